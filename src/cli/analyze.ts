// speedproof analyze: recomputes the verdict of recorded experiments.
import type { Command } from 'commander'
import { renderCombinedTerminal } from '../report/combined.ts'
import { EXIT_CODES } from './exit-code.ts'
import { type Flags, withOverrides } from './options.ts'
import { rejudge } from './rejudge.ts'

const GATES_HELP = `
A file for --gates, which may be another experiment:
  gates:
    speedup: { at_least: 2.5 }
    loss_delta: { below: 0.001, severity: warn }`

export function addAnalyze(program: Command): void {
  const command = program.command('analyze').argument('<results...>', 'result.json of each experiment')
  withOverrides(command, ['min-speedup', 'max-loss-delta', 'price-per-gpu-hour'])
    .description('recompute the verdict from the recorded metrics; runs nothing')
    .option('--gates <file>', 'judge by the gates in this YAML file, under its top-level gates:')
    .addHelpText('after', GATES_HELP)
    .action(analyze)
}

async function analyze(resultFiles: readonly string[], flags: Flags): Promise<void> {
  const combined = await rejudge(resultFiles, flags)
  console.log(renderCombinedTerminal(combined))
  process.exitCode = EXIT_CODES[combined.verdict]
}
