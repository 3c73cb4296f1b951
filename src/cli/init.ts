// speedproof init: writes a first experiment and its workflow for a script, and checks them as plan does.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { parseOverrides } from '../config/overrides/overrides.ts'
import { parseExperiment } from '../config/parse-experiment.ts'
import { CancelledError, ConfigError } from '../errors.ts'
import { type Choices, experimentText, missingOf, tellsLoss } from '../init/experiment-text.ts'
import { FRAMEWORKS, type Framework, frameworkOf } from '../init/frameworks.ts'
import { nextLines } from '../init/next-lines.ts'
import { parseSwitch } from '../init/switches.ts'
import { workflowText } from '../init/workflow-text.ts'
import { loadAll } from '../io/load/load-all.ts'
import { noiseFloorFolder } from '../io/load/noise-floors.ts'
import { cancelOnSignals } from '../io/system/cancel.ts'
import { packageRoot } from '../io/system/package-root.ts'
import { readText } from '../io/system/read-text.ts'
import { collect, relativeToHere } from './options.ts'
import { printNote } from './print.ts'

interface InitFlags {
  readonly script?: string
  readonly framework: string
  readonly name: string
  readonly nproc: string
  readonly python?: string
  readonly switch: readonly string[]
  readonly samplesPerStep?: string
  readonly labels: string
  readonly base: string
  readonly yes?: boolean
  readonly force?: boolean
}

/** Null where nobody can answer. */
type Ask = ((question: string) => Promise<string>) | null

const WORKFLOW = '.github/workflows/gpu-on-label.yml'

export function addInit(program: Command): void {
  program
    .command('init')
    .description('write a first experiment and its workflow for your script, and check them')
    .option('--script <file>', 'the Python file that starts the training')
    .option('--framework <name>', `auto, or one of ${FRAMEWORKS.join(', ')}`, 'auto')
    .option('--name <name>', 'of the experiment: lowercase letters, digits and -', 'my-change')
    .option('--nproc <value>', 'processes, one per GPU', '1')
    .option('--python <value>', 'interpreter with torch (default: that of .venv or venv, else python3)')
    .option(
      '--switch <key=baseline:optimized>',
      'setting that the change switches; without one, the change is in the code; may be repeated',
      collect,
      [],
    )
    .option('--samples-per-step <value>', 'samples of one step over all processes, for a loop of your own')
    .option('--labels <names>', 'of the runner', 'self-hosted,gpu')
    .option('--base <value>', 'branch that a change in the code is compared with', 'main')
    .option('--yes', 'ask nothing')
    .option('--force', 'overwrite files')
    .action(init)
}

async function init(flags: InitFlags): Promise<void> {
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
  await writeAndCheck(isTerminal && !flags.yes ? await asked(flags) : await chosen(flags, null), flags)
}

/** The terminal is given back before anything is written. */
async function asked(flags: InitFlags): Promise<Choices> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  // By Ctrl-D, which leaves a question without an end.
  const closed = once(terminal, 'close').then(cancel)
  try {
    return await chosen(flags, (question) =>
      Promise.race([terminal.question(`${question}: `).catch(cancel), closed]),
    )
  } finally {
    closed.catch(() => {})
    terminal.close()
  }
}

function cancel(): never {
  throw new CancelledError('cancelled: nothing was written')
}

async function writeAndCheck(choices: Choices, flags: InitFlags): Promise<void> {
  const experimentFile = `configs/experiments/${choices.name}.yaml`
  const text = experimentText(choices)
  // Its name becomes that of a file.
  parseExperiment(text, experimentFile)
  const labels = labelsOf(flags.labels)
  const example = await readText(join(packageRoot(), 'examples', WORKFLOW_EXAMPLE), WORKFLOW_EXAMPLE)
  const workflow = workflowText(example, { experimentFile, labels })
  await write(experimentFile, text, flags)
  const hasWorkflow = existsSync(WORKFLOW) && !flags.force
  if (hasWorkflow)
    printNote(`${WORKFLOW} is there already and stays as it is: put ${experimentFile} into both of its jobs`)
  else await write(WORKFLOW, workflow, flags)
  const base = choices.switches.length === 0 ? flags.base : null
  for (const note of [`Training with: ${choices.framework}`, ...missingOf(choices)]) printNote(note)
  await check(experimentFile, base)
  console.log(nextLines({ experimentFile, workflowFile: WORKFLOW, labels, base }).join('\n'))
}

const WORKFLOW_EXAMPLE = 'workflows/gpu-on-label.yml'

async function chosen(flags: InitFlags, ask: Ask): Promise<Choices> {
  const named = flags.script ?? (await ask?.('The Python file that starts the training'))?.trim()
  if (!named)
    throw new ConfigError(
      '--script: missing. Name the Python file that starts the training, such as train.py',
    )
  const script = relativeToHere(named)
  const source = await readText(resolve(script), `--script: ${script}`)
  const framework = frameworkNamed(flags.framework, source)
  const switches = [...flags.switch]
  if (switches.length === 0 && ask !== null) {
    const answer = await ask(
      'Setting that the change switches, as KEY=BASELINE:OPTIMIZED (empty: it is in the code)',
    )
    if (answer.trim() !== '') switches.push(answer)
  }
  const asksSamples = !tellsLoss(framework, source)
  const samples =
    flags.samplesPerStep ??
    (asksSamples ? await ask?.('Samples of one step, over all processes (empty: unknown)') : undefined)
  return {
    ...{ name: flags.name, script, source, framework },
    python: flags.python ?? ownPython(),
    processes: countOf('--nproc', flags.nproc),
    switches: switches.map(parseSwitch),
    samplesPerStep: samples?.trim() ? countOf('--samples-per-step', samples.trim()) : null,
  }
}

function frameworkNamed(name: string, source: string): Framework {
  const known = name === 'auto' ? frameworkOf(source) : FRAMEWORKS.find((one) => one === name)
  if (known !== undefined) return known
  throw new ConfigError(`--framework: got "${name}", expected auto or one of ${FRAMEWORKS.join(', ')}`)
}

function countOf(flag: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new ConfigError(`${flag}: got "${text}", expected a whole number from 1 on`)
}

function labelsOf(text: string): string[] {
  const labels = text.split(',').map((label) => label.trim())
  if (labels.every((label) => /^[\w.-]+$/.test(label))) return labels
  throw new ConfigError(
    `--labels: got "${text}", expected names with commas between them, such as self-hosted,gpu`,
  )
}

/** Of the folder, where it has an environment of its own. */
function ownPython(): string {
  return ['.venv/bin/python', 'venv/bin/python'].find((path) => existsSync(path)) ?? 'python3'
}

async function write(file: string, text: string, { force }: InitFlags): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  try {
    await writeFile(file, text, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    throw new ConfigError(`${file}: exists. Choose another --name, or overwrite it with --force`)
  }
  console.log(`Wrote ${file}`)
}

/** As plan does. Throws a ConfigError that names what to change in the file. */
async function check(experimentFile: string, base: string | null): Promise<void> {
  await using _ = await loadAll({
    experimentFiles: [experimentFile],
    workingDirectory: process.cwd(),
    overrides: parseOverrides(base === null ? {} : { base }),
    noiseFloorFolder: noiseFloorFolder(process.env),
    outDirectory: resolve('out'),
    cancelled: cancelOnSignals(),
    note: printNote,
    onWorktree: () => {},
  })
}
