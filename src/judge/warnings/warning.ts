// What a warning is: a question to the reader, asked of what the verdict is made from. It decides nothing.
import type { GateVerdict } from '../gates/gate-verdict.ts'
import type { VerdictInput } from '../verdict-input.ts'

export interface WarningInput extends VerdictInput {
  /** As they were judged. */
  readonly gates: readonly GateVerdict[]
}

/** `Reads`: the part of the input that this warning looks at. */
export type Warning<Reads extends keyof WarningInput = keyof WarningInput> = (
  input: Pick<WarningInput, Reads>,
) => readonly string[]
