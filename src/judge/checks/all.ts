// All checks, in the order of the report. A new one is a function in a file of its own, named in check.ts and listed here.

import { LOOK_AT_95 } from '../looks/look-rule.ts'
import { checkNoise } from '../noise/noise.ts'
import type { VerdictInput } from '../verdict-input.ts'
import { checkAa } from './aa.ts'
import { type Check, checkOf } from './check.ts'
import { checkClocks } from './clocks.ts'
import { checkCompletion } from './completion.ts'
import { checkEqualWork } from './equal-work.ts'
import { checkReevaluation } from './reevaluation.ts'
import { checkCode } from './same-code.ts'
import { checkSameMachine } from './same-machine.ts'
import { checkSteadyState } from './steady-state.ts'
import { checkData } from './work/same-data.ts'
import { warmUpProblems } from './work/warm-ups.ts'

export function checkAll(input: VerdictInput): [completion: Check, ...others: Check[]] {
  const { aa, noise } = input
  return [
    checkCompletion(input),
    ...checkComparability(input),
    ...checkData(input),
    checkReevaluation(input),
    aa === null ? checkNoise(noise) : checkAa(aa),
  ]
}

type Comparable = Pick<VerdictInput, 'experiment' | 'measured'> &
  Partial<Pick<VerdictInput, 'configs' | 'runs' | 'comparison'>>

/** Are the runs comparable at all? Equal work, one machine, a steady state, clocks that agree. */
export function checkComparability({
  experiment,
  measured,
  configs = null,
  runs = [],
  comparison,
}: Comparable): Check[] {
  const look = comparison?.look ?? LOOK_AT_95
  const shown = measured.length === 0 ? warmUpProblems({ experiment, configs, runs }) : {}
  return COMPARABILITY.map(([name, check]) => {
    if (measured.length > 0) return check({ experiment, measured, configs, look })
    const problems = (shown[name] ?? []).map((problem) => `warm-up launches: ${problem}`)
    return problems.length > 0
      ? checkOf(name, problems, '')
      : { name, status: 'inconclusive', detail: 'no measured run finished' }
  })
}

const COMPARABILITY = [
  ['equal work', checkEqualWork],
  ['same code', checkCode],
  ['same machine', checkSameMachine],
  ['steady state', checkSteadyState],
  ['clocks', checkClocks],
] as const
