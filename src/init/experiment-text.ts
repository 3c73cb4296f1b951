// The text of a first experiment file for a script: as short as it can be and still reach a verdict.
import { stringify } from 'yaml'
import type { Framework } from './frameworks.ts'
import { imports } from './frameworks.ts'
import { type ScriptWords, scriptWords } from './script-words.ts'
import type { Switch } from './switches.ts'

export interface Choices {
  readonly name: string
  /** Relative to the folder in which Speedproof is started. */
  readonly script: string
  /** Its text. */
  readonly source: string
  readonly framework: Framework
  readonly python: string
  readonly processes: number
  /** None: the change is in the code, from the commit where the branch left its base. */
  readonly switches: readonly Switch[]
  readonly samplesPerStep: number | null
}

export function experimentText(choices: Choices): string {
  const { name, script, python, processes, switches, framework } = choices
  const { words, pattern } = scriptWords(choices.source, framework)
  const isSwitched = switches.length > 0
  const setting = (variant: 'baseline' | 'optimized') =>
    switches.map((one) => `${flow(one.key)}: ${flow(one[variant])}`).join(', ')
  return [
    `# A change of ${script}. Paths are relative to the folder in which Speedproof is started.`,
    `name: ${name}`,
    ...(isSwitched
      ? [
          'kind: same-work',
          'trainer:',
          `  arguments: ${JSON.stringify(pattern)}`,
          `  speed_keys: ${flowList(switches.map(({ key }) => key))}`,
        ]
      : ['kind: regression # the same training before and after a change of the code']),
    'launch:',
    `  python: ${flow(python)}`,
    ...(processes === 1 ? [] : [`  nproc_per_node: ${processes}`]),
    ...wrapped(`  command: ${flowList([...launcher(framework, processes), script, ...words])}`),
    'variants:',
    `  baseline: { ${isSwitched ? `set: { ${setting('baseline')} }` : 'revision: merge-base'} }`,
    isSwitched ? `  optimized: { set: { ${setting('optimized')} } }` : '  optimized: {}',
    ...metricsLines(choices),
    'gates:',
    '  speedup: { at_least: 1.05 }',
    '  loss_ratio: { at_most: 1.03 }',
    '',
  ].join('\n')
}

/** Without them, a file in the owner's home folder would decide, which is not on the runner. */
const PRECISION = ['--mixed_precision', 'no', '--dynamo_backend', 'no']

function launcher(framework: Framework, processes: number): string[] {
  if (framework === 'accelerate')
    return [
      ...['{python}', '-m', 'accelerate.commands.launch', '--num_processes', '{nproc}'],
      ...['--num_machines', '1', ...PRECISION],
    ]
  return processes === 1
    ? ['{python}']
    : [
        ...['{python}', '-m', 'torch.distributed.run', '--standalone', '--local-addr', '127.0.0.1'],
        ...['--nproc-per-node', '{nproc}'],
      ]
}

function metricsLines({ framework, source, samplesPerStep }: Choices): string[] {
  const samples = samplesPerStep === null ? '' : `, samples_per_step: ${samplesPerStep}`
  const line = `metrics: { format: recorder${samples} }`
  return tellsLoss(framework, source)
    ? [line]
    : [
        '# The recorder sees no held-out loss in a loop of your own: report it by speedproof.Recorder, or use format: log.',
        line,
      ]
}

/** Both trainers have plug-ins; elsewhere the script has to tell. */
export function tellsLoss(framework: Framework, source: string): boolean {
  return framework === 'hugging-face' || framework === 'lightning' || imports(source, 'speedproof')
}

/** What a person has to look at, since the script's text does not show it. */
export function missingOf({ source, framework, script }: Choices): string[] {
  const { missing }: ScriptWords = scriptWords(source, framework)
  const placeholders = { seed: '{seed}', 'output folder': '{out}' } as const
  const ofScript = missing.map(
    (what) =>
      `${script}: no argument for its ${what} was found. If it has one, add it to launch.command with ${placeholders[what]}`,
  )
  return framework === 'accelerate' ? [...ofScript, REPLACED] : ofScript
}

const REPLACED = `launch.command has ${PRECISION.join(' ')}, which replace the settings of your accelerate config. If that says bf16, for instance, change them`

/** As an item of a list or mapping in brackets: quoted where YAML needs it. */
function flow(text: string): string {
  const item = stringify([text], { collectionStyle: 'flow', lineWidth: 0, version: '1.1' }).trim()
  return item.slice(1, -1).trim()
}

function flowList(items: readonly string[]): string {
  return `[${items.map(flow).join(', ')}]`
}

const MOST_CHARACTERS = 120

/** At the commas between items, which are followed by a space; a space within an item is kept by its quotes. */
function wrapped(line: string): string[] {
  const lines: string[] = []
  let rest = line
  while (rest.length > MOST_CHARACTERS) {
    const at = rest.lastIndexOf(', ', MOST_CHARACTERS - 1)
    if (at < 0) break
    lines.push(rest.slice(0, at + 1))
    rest = `    ${rest.slice(at + 2)}`
  }
  return [...lines, rest]
}
