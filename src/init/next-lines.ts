// What to do once the files are written.
import { shellQuote } from '../text/shell-quote.ts'

export interface Written {
  readonly experimentFile: string
  readonly workflowFile: string
  readonly labels: readonly string[]
  /** Of a change in the code; null for a switch. */
  readonly base: string | null
}

export function nextLines({ experimentFile, workflowFile, labels, base }: Written): string[] {
  const file = `${shellQuote(experimentFile)}${base === null ? '' : ` --base ${shellQuote(base)}`}`
  return [
    `1. speedproof try ${file}: one launch of each variant, and all that is wrong at once`,
    `2. speedproof run ${file}: measures and prints the table`,
    `3. Set python: in both jobs of ${workflowFile} to the runner's own interpreter with torch`,
    `4. Commit ${experimentFile} and ${workflowFile} to the default branch`,
    `5. Make the label gpu, and register a runner with the labels ${labels.join(', ')}`,
    '6. Set the label gpu on a pull request: a check and a comment bring the verdict',
  ]
}
