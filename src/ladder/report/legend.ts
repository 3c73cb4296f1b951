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
    'speedup: seconds per sample of the baseline / those of the launch, in the steady state. The baseline is the mean of the baseline launches right before and after it.',
    'gain: the speedup over the training without this rung, which decides the verdict. Alone, that is the baseline with what the rung needs; in the sum, all rungs before it. Launches of different sittings are compared by their speedups. Of several launches of a training, the last one counts that shares a sitting with what it is compared with.',
    noise === null
      ? 'noise: unknown, since no sitting has two baseline launches. So no rung has a verdict.'
      : `noise: the standard deviation of one launch is ${percent(noise.deviation)}, from ${noise.differences} ${noise.differences === 1 ? 'pair' : 'pairs'} of neighbouring baseline launches. Each rung has one launch, with this noise and the scatter of its own steps. Its ${level} interval is in brackets. An interval that contains 1.00x reads "no gain" if it ends below ${ratio(NO_GAIN)}, else "open". About one in 20 rungs without effect reads "gain" or "loss".`,
    `every launch with ${line(settingsText(experiment.design.seed, settings))}; loss delta: held-out loss minus that of the baseline launches around it.`,
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
    `${others.length} ${others.length === 1 ? 'launch' : 'launches'} with other settings, from sitting ${sittings.join(', ')}: in ladder.json, but not in these tables.`,
  ]
}

function settingsText(seed: number, settings: LadderRecord['settings']): string {
  const all = Object.entries(settings).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return [`seed ${seed}`, ...all].join(', ')
}

function workText(trainings: readonly LadderTraining[]): string {
  return [...new Set(trainings.flatMap(({ otherWork }) => otherWork))].join(', ')
}
