// Did both runs of each block find their compile caches alike? One that compiles first is slower from start to end.
import type { CompileCache, Launched } from '../../measure/outcome.ts'
import { isMeasured } from '../../plan/plan.ts'
import { listed } from '../../text/wording.ts'
import { type MachineCheck, machineCheck, notMeasured, passed } from './machine-check.ts'

export function checkCompileCaches(counting: readonly Launched[]): MachineCheck {
  const measured = counting.filter(({ outcome }) => outcome.status === 'finished' && isMeasured(outcome.run))
  const states = measured.map(({ launch }) => launch?.compileCache ?? null)
  const mixed = mixedBlocks(measured)
  if (mixed.length > 0) {
    const detail = `in ${listed(mixed.map((block) => `block ${block}`))} one run compiled and the other found everything compiled, so their times differ. Give each variant a warm-up launch`
    return machineCheck('compile caches', { status: 'warned', detail })
  }
  return states.length === 0 || states.includes(null)
    ? machineCheck('compile caches', notMeasured('not every launch reported its compile cache'))
    : machineCheck('compile caches', passed(`no block has one cold and one warm run (${kindsText(states)})`))
}

function mixedBlocks(measured: readonly Launched[]): number[] {
  const blocks = Map.groupBy(measured, ({ outcome }) => outcome.run.block ?? 0)
  return [...blocks].flatMap(([block, runs]) => {
    const states = runs.map(({ launch }) => launch?.compileCache)
    return states.includes('cold') && states.includes('warm') ? [block] : []
  })
}

function kindsText(states: readonly (CompileCache | null)[]): string {
  return [...new Set(states)].join(', ')
}
