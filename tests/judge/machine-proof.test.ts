// Whatever the machine's records hold: a disturbed run never counts towards a pass, and nothing unseen passes a gate.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assess } from '../../src/assess.ts'
import type { Experiment } from '../../src/config/experiment.ts'
import { machineProblems } from '../../src/judge/machine/runs.ts'
import { type MachineRecord, readMachine } from '../../src/measure/machine-record.ts'
import type { Launched } from '../../src/measure/outcome.ts'
import { planRuns, repeatOf } from '../../src/plan/plan.ts'
import { anExperiment, aRequest, launchedPlan } from '../fixtures/builders.ts'
import { aGpuSample, aMachineRecord, aPreflight, aProcess } from '../fixtures/machine/records.ts'

const EXPERIMENT = anExperiment({ design: { blocks: 4, warm_up_launches: 0, seed: 0 } })
const ALL = await launchedPlan(EXPERIMENT)
const PLAN = planRuns(EXPERIMENT)

const well = aMachineRecord()
const hot = aMachineRecord({
  samples: well.samples.map((sample) => aGpuSample({ ...sample, event_reasons: 0x40 })),
})
const shared = aMachineRecord({ processes: [aProcess(), aProcess({ pid: 77, is_ours: false })] })

const again = ({ launch, outcome }: Launched): Launched => {
  const run = repeatOf(outcome.run)
  return { launch: launch && { ...launch, runId: run.id }, outcome: { ...outcome, run } }
}

const record = fc.constantFrom<MachineRecord | undefined>(well, well, well, hot, shared, undefined)
const history = fc.record({
  records: fc.array(record, { minLength: 16, maxLength: 16 }),
  isRepeated: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
})

test('no pass counts a disturbed run, and none passes without the repeat that it calls for', () => {
  let passes = 0
  fc.assert(
    fc.property(history, ({ records, isRepeated }) => {
      const repeats = ALL.filter(({ outcome }) => isRepeated[(outcome.run.block ?? 1) - 1]).map(again)
      const ids = PLAN.flatMap((run) => [run.id, repeatOf(run).id])
      const known = ids.flatMap((id, index) => (records[index] ? [[id, [records[index]]] as const] : []))
      const seen = { preflight: aPreflight(), records: new Map(known) }
      const result = assess(aRequest({ experiment: EXPERIMENT }), [...ALL, ...repeats], seen)
      expect(result.outcomes).toHaveLength(ALL.length + repeats.length)
      if (result.verdict.verdict !== 'passed') return
      passes += 1
      const counted = result.machines.filter(({ runId }) => result.runs.some((run) => run.runId === runId))
      expect(counted.flatMap(machineProblems)).toEqual([])
      expect(result.runs).toHaveLength(ALL.length)
    }),
    { numRuns: 300, seed: 11 },
  )
  expect(passes).toBeGreaterThan(0)
})

const OF_THE_MACHINE: Experiment['gates'] = {
  gpu_utilization: { at_least: 0.01, severity: 'warn', evidence: 'point' },
  energy_per_sample: { below: 1e9, severity: 'required', evidence: 'point' },
  energy_ratio: { at_most: 1e9, severity: 'required', evidence: 'point' },
  peak_memory_gb: { below: 9999, severity: 'required', evidence: 'point' },
  peak_memory_allocated_gb: { below: 9999, severity: 'required', evidence: 'point' },
  allocation_retries: { below: 1e9, severity: 'required', evidence: 'point' },
}

test('without a GPU no gate on the machine passes, however wide its limit', () => {
  const nothing = { status: 'not-measured', reason: 'nvidia-smi cannot be started' } as const
  const preflight = aPreflight({ gpus: nothing, processes: nothing, probes: nothing })
  const unseen = aMachineRecord({ gpus: [], samples: [], energy: [], processes: [], fingerprint: null })
  const records = new Map(PLAN.map(({ id }) => [id, [unseen]]))
  const experiment = { ...EXPERIMENT, gates: OF_THE_MACHINE }
  const { verdict } = assess(aRequest({ experiment }), ALL, { preflight, records })
  expect(verdict.gates.map(({ status }) => status)).toEqual(Array(6).fill('not-measured'))
  expect(verdict.verdict).toBe('inconclusive')
})

test('no line of a machine record, however odd, breaks the reading', async () => {
  const lines = [
    JSON.stringify({ event: 'start', gpus: ['GPU-0'], fingerprint: 'one H200' }),
    ...well.samples.slice(0, 4).map((sample) => JSON.stringify(sample)),
  ]
  await fc.assert(
    fc.asyncProperty(fc.nat(lines.length - 1), fc.oneof(fc.string(), fc.json()), async (at, odd) => {
      const found = await readMachine(lines.with(at, odd))
      // A record without its start is none; otherwise it ends where it cannot be read.
      expect(found?.samples.length ?? -1).toBe(at - 1)
    }),
    { numRuns: 300, seed: 12 },
  )
})
