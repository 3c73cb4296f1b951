// Blocks that follow each other: then the interval of a gate is shorter than it should be.
import { neighbourRatio, neighbourRatioCdf } from '../../../statistics/neighbour-ratio.ts'
import { isLevel } from '../../gates/gate-kind.ts'
import type { Warning } from '../warning.ts'

/** Of a gate with independent blocks. */
const FALSE_ALARM = 0.02

/** Fewer blocks show no more than chance does. */
const MIN_BLOCKS = 6

export const correlatedBlockWarnings: Warning<'gates'> = ({ gates }) =>
  gates.flatMap(({ gate, evidence, status }) => {
    const isDecided = status === 'passed' || status === 'failed'
    if (!isDecided || gate.severity === 'info' || gate.evidence === 'point' || isLevel(gate)) return []
    if (evidence === null || evidence.pairs < MIN_BLOCKS) return []
    const found = neighbourRatio(evidence.values)
    return found !== null && neighbourRatioCdf(found, evidence.pairs) < FALSE_ALARM
      ? [
          `${gate.name}: neighbouring blocks are alike, so the interval is too short: at the limit itself such gates pass more often than stated. Measure again at another time, or make the runs longer`,
        ]
      : []
  })
