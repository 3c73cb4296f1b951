// The workflow that measures a pull request with a label: the example, with this experiment and runner in it.

export interface WorkflowChoices {
  readonly experimentFile: string
  /** Of the runner. */
  readonly labels: readonly string[]
}

/**
 * `example`: the text of examples/workflows/gpu-on-label.yml. Its interpreter stays: that of this machine is not on the
 * runner.
 */
export function workflowText(example: string, { experimentFile, labels }: WorkflowChoices): string {
  return [
    [/configs\/experiments\/my-change\.yaml/g, experimentFile],
    [/\[self-hosted, gpu\]/g, `[${labels.join(', ')}]`],
    [/Copy to \.github\/workflows\/, make the label/g, 'Make the label'],
  ].reduce((text, [place, value]) => replaced(text, place as RegExp, value as string), example)
}

/** Throws where the example no longer has it: a workflow for another experiment would measure nothing. */
function replaced(text: string, place: RegExp, value: string): string {
  const changed = text.replaceAll(place, () => value)
  if (!text.match(place)) throw new Error(`the example workflow has no ${place.source}`)
  return changed
}
