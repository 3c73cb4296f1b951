// Did the machine spoil this launch? What we saw ourselves tells, never what the training says.
import { foreignProcesses, summarizeMachine } from '../../measure/machine.ts'
import type { MachineRecord } from '../../measure/machine-record.ts'
import type { Launched } from '../../measure/outcome.ts'
import { isMeasured } from '../../plan/plan.ts'
import { atNode, foreignProblems, machineProblems } from './runs.ts'

/** Null for a launch that stands: undisturbed, not over, or failed by its own doing. */
export function disturbanceOf(
  { launch, outcome }: Launched,
  records: readonly MachineRecord[] | undefined,
): string | null {
  switch (outcome.status) {
    case 'finished':
      // A warm-up launch counts for nothing; of a run alone, later ones cannot change what is said here.
      return !isMeasured(outcome.run) || records === undefined
        ? null
        : joined(machineProblems(summarizeMachine(outcome, records)))
    case 'failed':
      return joined([
        ...(launch?.result.status === 'not-started'
          ? [`it could not be started: ${launch.result.message}`]
          : []),
        ...(records ?? []).flatMap((record) =>
          [...foreignProblems(foreignProcesses(record)), ...lostGpu(record)].map((problem) =>
            atNode(record.node, problem),
          ),
        ),
      ])
    default:
      return null
  }
}

/** The driver knew the GPUs before the launch, and after it not any more, or as others. */
function lostGpu({ fingerprint, end }: MachineRecord): string[] {
  if (fingerprint === null || end === null || end.fingerprint === fingerprint) return []
  return ['a GPU was lost, or changed its state, while it ran']
}

function joined(problems: readonly string[]): string | null {
  return problems.length === 0 ? null : problems.join('; ')
}
