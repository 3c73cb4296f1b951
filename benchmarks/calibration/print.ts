// `npm run calibrate`: how often the judge errs and what it costs, with the looks of earlier designs and with today's.
import { markdownTable } from 'markdown-table'
import { type Look, looksAfter } from '../../src/config/looks.ts'
import type { Played } from '../../src/judge/looks/play.ts'
import { bothAt, pairedMean } from '../../src/judge/paired.ts'
import { meanOf, sumOf } from '../../src/statistics/averages.ts'
import { seededRandom } from '../../src/statistics/random.ts'
import {
  AT_THE_LIMIT,
  type Case,
  COSTS,
  FIRST_LOOK,
  POWER,
  SPEEDUP,
} from '../../tests/judge/calibration/cases.ts'
import { EARLIER, LOOKS, play, shareOf } from '../../tests/judge/calibration/experiments.ts'
import { alarms } from './alarms.ts'

const EXPERIMENTS = Number(process.env.EXPERIMENTS ?? 20_000)
const DESIGNS: readonly (readonly Look[])[] = [EARLIER, looksAfter(LOOKS)]

const played = (one: Case) =>
  DESIGNS.map((looks) => play(one.truth, one.noise, EXPERIMENTS, { looks, gate: one.gate ?? SPEEDUP }))
const percent = (share: number) => `${(100 * share).toFixed(1)}%`
const passed = (results: readonly Played[]) => percent(shareOf('passed', results))
const failed = (results: readonly Played[]) => percent(shareOf('failed', results))
/** One warm-up launch of each variant. */
const launches = (results: readonly Played[]) => 2 + 2 * meanOf(results.map(({ blocks }) => blocks))

function section(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  console.log(`\n${title}\n\n${markdownTable([['case', ...head], ...rows.map((row) => [...row])])}`)
}

const twice = (what: string) => [`${what}, before`, `${what}, after`]

console.log(`Looks before: ${JSON.stringify(EARLIER)}\nLooks after: ${JSON.stringify(looksAfter(LOOKS))}`)

section(
  'At the limit: each pass and each failure is wrong',
  [...twice('passes'), ...twice('fails')],
  AT_THE_LIMIT.map((one) => {
    const results = played(one)
    return [one.name, ...results.map(passed), ...results.map(failed)]
  }),
)
section(
  'Power: passes',
  twice('passes'),
  POWER.map((one) => [one.name, ...played(one).map(passed)]),
)
const costs = COSTS.map((one) => ({ ...one, results: played(one) }))
const totals = DESIGNS.map((_, design) => sumOf(costs.map(({ results }) => launches(results[design] ?? []))))
section(
  'Launches, and what they decide',
  [...twice('launches'), ...twice('passes'), ...twice('fails')],
  [
    ...costs.map(({ name, results }) => [
      name,
      ...results.map((result) => launches(result).toFixed(1)),
      ...results.map(passed),
      ...results.map(failed),
    ]),
    ['all', ...totals.map((total) => total.toFixed(1)), '', '', '', ''],
  ],
)
console.log(`\nLaunches of all cases, after / before: ${percent((totals[1] ?? 0) / (totals[0] ?? 1))}`)
section(
  'A miss by far',
  ['fails after 2 blocks', 'blocks, before', 'blocks, after'],
  FIRST_LOOK.map((one) => {
    const results = played(one)
    const first = (results[1] ?? []).filter(({ status, blocks }) => status === 'failed' && blocks === 2)
    return [
      one.name,
      percent(first.length / EXPERIMENTS),
      ...results.map((result) => meanOf(result.map(({ blocks }) => blocks)).toFixed(2)),
    ]
  }),
)
section(
  'Coverage of the bound that passes, at each look by itself',
  ['nominal', 'as recorded', 'independent'],
  DESIGNS.flatMap((looks, design) =>
    looks
      .filter(({ pass_level }) => pass_level > 0)
      .map(({ blocks, pass_level }) => [
        `${design === 0 ? 'before' : 'after'}, ${blocks} blocks`,
        percent(1 - pass_level),
        ...['eager baseline as recorded', 'log-normal'].map((name) =>
          percent(coverage(caseOf(name), blocks, 1 - pass_level)),
        ),
      ]),
  ),
)
section('Alarms, as shares of experiments', ['warning', 'invalid'], await alarms())

function caseOf(wanted: string): Case {
  const found = AT_THE_LIMIT.find(({ name }) => name === wanted)
  if (found === undefined) throw new Error(`no case ${wanted}`)
  return found
}

function coverage(one: Case, blocks: number, confidence: number): number {
  const random = seededRandom(2)
  const holds = Array.from({ length: EXPERIMENTS }, () => {
    const values = one.noise(random, blocks)
    return (pairedMean(values, bothAt(confidence))?.bounds?.lower ?? Number.NaN) <= 0
  })
  return holds.filter(Boolean).length / holds.length
}
