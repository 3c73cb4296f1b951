// `speedproof analyze`: computes the verdict of recorded experiments again, also by other gates.
import type { Command } from 'commander'
import { assess } from '../assess.ts'
import { readRecorded, withGates } from '../io/load/read-recorded.ts'
import { type Combined, combine } from '../record/combined.ts'
import type { Result } from '../record/result.ts'
import { renderCombinedTerminal } from '../report/combined.ts'
import { EXIT_CODES } from './exit-code.ts'
import { type Flags, overridesOf, withOverrides } from './options.ts'

const GATES_HELP = `
A file for --gates, which may be another experiment:
  gates:
    speedup: { at_least: 2.5 }
    loss_delta: { below: 0.001, severity: warn }`

export function addAnalyze(program: Command): void {
  const command = program.command('analyze').argument('<results...>', 'result.json of each experiment')
  withOverrides(command, ['min-speedup', 'max-loss-delta', 'price-per-gpu-hour'])
    .description('recompute the verdict from the recorded metrics; runs nothing')
    .option('--gates <file>', 'take the gates from the top-level gates: of this YAML file instead')
    .addHelpText('after', GATES_HELP)
    .action(analyze)
}

async function analyze(files: string[], flags: Flags): Promise<void> {
  const combined = await assessAgain(files, flags)
  console.log(renderCombinedTerminal(combined))
  process.exitCode = EXIT_CODES[combined.verdict]
}

/** From the recorded metrics. */
export async function assessAgain(files: readonly string[], flags: Flags): Promise<Combined> {
  const results: Result[] = []
  for (const file of files) {
    const recorded = await readRecorded(file, (experiment) =>
      withGates(experiment, flags.gates ?? null, overridesOf(flags)),
    )
    results.push(assess(recorded.request, recorded.launched, recorded.watched, recorded.reevaluation))
  }
  return combine(results)
}
