// Explains the tables: what the columns and the words mean.
import { confidence, percent, ratio } from '../../text/numbers.ts'
import { type JudgedLadder, NO_GAIN } from '../judge.ts'
import { CONFIDENCE } from '../noise.ts'
import type { LadderRecord, LadderTraining } from '../record.ts'
import type { Style } from './style.ts'

export function legend(record: LadderRecord, judged: JudgedLadder, { line }: Style): string[] {
  const { trainings, settings, experiment } = record
  const { noise } = judged
  const changed = trainings.filter(({ otherWork }) => otherWork.length > 0)
  const level = confidence(CONFIDENCE)
  return [
    'speedup: baseline / own seconds per sample in the steady state, against the mean of the baseline launches right before and after it.',
    'gain: the same against the training without this rung: alone, the baseline with what the rung needs; in the sum, all before it. The verdict is about it. Two launches of different sittings are compared by their speedups. Of several launches of a training the last counts that stands beside what it is compared with.',
    noise === null
      ? 'noise: unknown, since no sitting has two baseline launches; so no verdict.'
      : `noise: one launch scatters by ${percent(noise.deviation)} (standard deviation, from ${noise.differences} ${noise.differences === 1 ? 'pair' : 'pairs'} of neighbouring baseline launches). One launch for each rung, which is taken to scatter alike, and by what its own steps tell besides; in brackets its ${level} interval. One that holds 1.00x reads "no gain" if it ends below ${ratio(NO_GAIN)}, else "open"; of 20 rungs without effect, about one reads "gain" or "loss".`,
    `every launch with ${line(settingsText(experiment.design.seed, settings))}; loss delta: held-out loss - that of the baseline launches around it.`,
    'not active: the trainer reads back the same settings as without it.',
    ...(changed.length > 0
      ? [`${line('*')} does other work than the baseline: ${line(workText(changed))}.`]
      : []),
    ...otherLaunches(record),
  ]
}

/** What was measured before --set or the experiment changed, or a rung that failed, and with it the sums after it. */
function otherLaunches({ trainings, launches }: LadderRecord): string[] {
  const others = launches.filter(({ training }) => !trainings.some(({ hash }) => hash === training))
  if (others.length === 0) return []
  const sittings = [...new Set(others.map(({ sitting }) => sitting + 1))]
  return [
    `${others.length} ${others.length === 1 ? 'launch' : 'launches'} of other settings, from sitting ${sittings.join(', ')}, kept in ladder.json and in none of these tables.`,
  ]
}

function settingsText(seed: number, settings: LadderRecord['settings']): string {
  const all = Object.entries(settings).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return [`seed ${seed}`, ...all].join(', ')
}

function workText(trainings: readonly LadderTraining[]): string {
  return [...new Set(trainings.flatMap(({ otherWork }) => otherWork))].join(', ')
}
