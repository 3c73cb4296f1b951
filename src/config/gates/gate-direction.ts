// Checks that a gate's limit is on the side where its metric is better.
import { ConfigError } from '../../errors.ts'
import { evaluationMetric, metricNamed } from '../../metrics/families.ts'
import { isHeldOutMetric, isTimeMetric } from '../../metrics/questions.ts'
import type { MetricRow, Statistic } from '../../metrics/row.ts'
import type { Gate } from './gates.ts'

type Compared = Pick<Gate, 'metric' | 'statistic' | 'direction'>

/** Throws a ConfigError for a limit on the wrong side: a worse model would pass it. */
export function checkDirection({ metric, statistic, direction }: Compared, where: string): void {
  if (statistic === 'speedup') checkSpeedup(metric, where)
  if (statistic === 'minimum' || statistic === 'maximum') checkLevel(metric, statistic, where)
  const better = wanted(metric, statistic)
  if (better === null || (better === 'more') === (direction === 'at_least')) return
  const isOfMetric = statistic === 'ratio' || statistic === 'difference'
  const [takes, good] = better === 'more' ? ['at_least', 'higher'] : ['at_most or below', 'lower']
  throw new ConfigError(
    `${where}.${direction}: got ${direction}, expected ${takes}: a ${good} ${statistic}${isOfMetric ? ` of ${metric}` : ''} is better`,
  )
}

function wanted(metric: string, statistic: Statistic): MetricRow['better'] {
  if (statistic === 'speedup' || statistic === 'minimum') return 'more'
  return statistic === 'maximum' ? 'less' : metricNamed(metric).better
}

/** The least number of all runs bounds them from below, which says nothing where less is good; the most likewise. */
function checkLevel(metric: string, statistic: 'minimum' | 'maximum', where: string): void {
  const { better } = metricNamed(metric)
  if (better === null || (better === 'more') === (statistic === 'minimum')) return
  const remedy = better === 'more' ? 'minimum with at_least' : 'maximum with at_most or below'
  throw new ConfigError(
    `${where}.statistic: got ${statistic}, expected ${remedy}: ${better} ${metric} is better`,
  )
}

/** A quotient with the baseline on top grows as the optimized number falls, also where that is worse. */
function checkSpeedup(metric: string, where: string): void {
  const { better } = metricNamed(metric)
  const isCost = better === 'less' && (!isHeldOutMetric(metric) || isTimeMetric(metric))
  if (isCost) return
  const limit = { less: 'at_most', more: 'at_least' }
  const remedy = better === null ? 'at_least if more is better, at_most if less is' : limit[better]
  const name = metric.startsWith(evaluationMetric('')) ? '. If it is one, end its name in _seconds' : ''
  throw new ConfigError(
    `${where}.statistic: got speedup, expected ratio with ${remedy}: ${metric} is not a time${name}`,
  )
}
