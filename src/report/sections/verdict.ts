// What was decided and why, the table of the gates, and the few lines that a reviewer must know.
import { isMeasured } from '../../plan/plan.ts'
import type { Result } from '../../record/result.ts'
import { ratio } from '../../text/numbers.ts'
import { firstSentence } from '../../text/wording.ts'
import { escapeCell } from '../escape.ts'
import { GATE_ICON, gateCells, tableHead, toDecideText } from '../gates/gate-row.ts'
import { ruleLink } from '../rules.ts'
import { folded, type Section, table } from '../section.ts'

export const VERDICT_ICON = { passed: '✅', failed: '❌', inconclusive: '❓', invalid: '⚠️' } as const

/** More is read by nobody; the rest is folded. */
const MOST_LINES = 5
const MAX_REASON_CHARACTERS = 400
const MAX_LINE_CHARACTERS = 240

export const verdictSection: Section = (result) => ({
  kind: 'verdict',
  title: 'verdict',
  markdown: verdictText(result),
})

export const gateTableSection: Section = ({ verdict: { gates } }) => ({
  kind: 'rows',
  title: 'the gate table',
  markdown: table([tableHead(gates), ...gates.map(rowOf)]),
})

/** Warnings first: what they say may be why not to trust the table. */
export const mustKnowSection: Section = (result) => ({
  kind: 'link',
  title: 'what to know',
  markdown: mustKnow(result)
    .map((line) => `- ${line}`)
    .join('\n'),
})

export const warningsSection: Section = ({ verdict: { warnings } }) => ({
  kind: 'details',
  title: 'warnings',
  markdown: areShownInFull(warnings)
    ? ''
    : folded(
        `Warnings in full (${warnings.length})`,
        warnings.map((warning) => `- ${escapeCell(warning, 600)}`).join('\n'),
      ),
})

function areShownInFull(warnings: readonly string[]): boolean {
  const isShort = (warning: string) =>
    warning.length <= MAX_LINE_CHARACTERS && firstSentence(warning) === warning
  return warnings.length <= MOST_LINES && warnings.every(isShort)
}

/**
 * An A/A bears its experiment's name, and must not be taken for it. A verdict speaks for one host. Whoever repeats a
 * measurement until it passes is seen to.
 */
export function verdictTitle({ experiment: { name, mode }, verdict, attempt }: Result): string {
  const again = attempt !== null && attempt > 1 ? `, in attempt ${attempt} of its workflow run` : ''
  return `${name}${mode === 'aa' ? ' (A/A)' : ''} ${verdict.verdict} on this host${again}`
}

function verdictText(result: Result): string {
  const { verdict } = result
  return [
    `## ${VERDICT_ICON[verdict.verdict]} Speedproof: ${verdictTitle(result)}`,
    '',
    `**Why:** ${escapeCell(verdict.reason, MAX_REASON_CHARACTERS)} (${ruleLink('how a verdict is made', 'verdicts')})`,
  ].join('\n')
}

function rowOf(gate: Result['verdict']['gates'][number]): string[] {
  const [name, ...cells] = gateCells(gate)
  // In front, where a narrow window does not cut it off.
  return [`${GATE_ICON[gate.status]}\u00A0${name}`, ...cells]
}

function mustKnow(result: Result): string[] {
  const { warnings } = result.verdict
  const further = [...openGates(result), ...oneSession(result), ...wholeRuns(result)]
  const shown = warnings.length > MOST_LINES ? warnings.slice(0, MOST_LINES - 1) : warnings
  return [
    ...shown.map((warning) => `⚠️ ${escapeCell(firstSentence(warning), MAX_LINE_CHARACTERS)}`),
    ...(warnings.length > shown.length
      ? [`⚠️ ${warnings.length - shown.length} more warnings are below.`]
      : []),
    ...further,
  ].slice(0, MOST_LINES)
}

/** What would decide a required gate that is open, or why it is. */
function openGates({ verdict: { gates } }: Result): string[] {
  return gates.flatMap(({ gate, status, precision, reason }) => {
    if (gate.severity !== 'required' || status !== 'inconclusive') return []
    const text = precision === null ? '' : toDecideText(gate, precision.toDecide).trim()
    return [`${gate.name}: ${text || escapeCell(`${reason}.`, MAX_LINE_CHARACTERS)}`]
  })
}

/** A speedup that is published should hold on another day too. */
function oneSession({ experiment: { preset }, verdict: { verdict }, launches }: Result): string[] {
  const times = launches.map(({ startedAt }) => Date.parse(startedAt)).sort((one, other) => one - other)
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time))
  const isOne = gaps.length > 0 && Math.max(...gaps) < ANOTHER_TIME_MS
  return preset === 'release' && verdict === 'passed' && isOne
    ? ['All launches are of one session. Measure again at another time before you publish the speedup.']
    : []
}

const ANOTHER_TIME_MS = 6 * 3_600_000

function wholeRuns({ experiment, verdict: { verdict, speedups }, runs }: Result): string[] {
  const { total, atFastestSteps } = speedups
  if (verdict === 'invalid') return []
  if (experiment.mode === 'aa' || total === null || !runs.some(isMeasured)) return []
  const fastest =
    atFastestSteps.steady === null
      ? ''
      : ` At the fastest steps of each run, the speedup is ${ratio(atFastestSteps.steady.estimate)}.`
  return [`Whole runs, with set-up and evaluations, are ${ratio(total.estimate)} as fast.${fastest}`]
}
