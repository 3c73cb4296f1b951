// The entry of the cloud action: the commands that the jobs of cloud.yml call, without what experiments need.
import { Command } from 'commander'
import { addCloud } from './cli/cloud/cloud.ts'
import { exitCodeOf } from './cli/exit-code.ts'
import { exitPrinted, outliveReaders } from './io/system/exit-printed.ts'

const program = new Command('speedproof').exitOverride()
addCloud(program)
outliveReaders()
try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeOf(error)
}
await exitPrinted()
