// What a reader learns of the machine: why its runs can be compared, and what its GPUs did.
import { expect, test } from 'vitest'
import { assess } from '../../../src/assess.ts'
import { gatesFile } from '../../../src/config/gates/gates.ts'
import type { MachineRecord } from '../../../src/measure/machine-record.ts'
import { repeatOf } from '../../../src/plan/plan.ts'
import { renderSections } from '../../../src/report/markdown.ts'
import { renderTerminal } from '../../../src/report/terminal.ts'
import { anExperiment, aRequest, launchedPlan } from '../../fixtures/builders.ts'
import { aGpuSample, aMachineRecord, aPreflight, filledBySteps } from '../../fixtures/machine/records.ts'

const EXPERIMENT = anExperiment({ design: { blocks: 1, warm_up_launches: 0, seed: 0 } })
const LAUNCHED = await launchedPlan(EXPERIMENT, ({ variant }) => ({
  end: {
    peak_memory_reserved_bytes: variant === 'baseline' ? [50e9, 49e9] : [31e9, 30e9],
    allocation_retries: variant === 'baseline' ? [0, 2] : [0, 0],
  },
}))

const at = (sm_clock_mhz: number, event_reasons = 0x4) =>
  aMachineRecord({
    samples: aMachineRecord().samples.map((sample) => aGpuSample({ ...sample, sm_clock_mhz, event_reasons })),
  })

function watched(records: Readonly<Record<string, MachineRecord>>, preflight = aPreflight()) {
  const filled = Object.entries(records).map(([id, record]) => [id, [filledBySteps(id, record)]] as const)
  return { preflight, records: new Map(filled) }
}

const sectionOf = (text: string) => text.slice(text.indexOf('Machine\n'), text.lastIndexOf('\n\n'))

test('on GPUs: checks, and the numbers of both variants', () => {
  const seen = watched({ '01-block-1-baseline': at(1500), '02-block-1-optimized': at(1440) })
  const experiment = { ...EXPERIMENT, launch: { ...EXPERIMENT.launch, price_per_gpu_hour: 3 } }
  const result = assess(aRequest({ experiment }), LAUNCHED, seen)
  const text = renderTerminal(result)
  expect(text).toContain(
    'Clocks: in SM clock cycles per sample, so as if every run had gone at one clock, the speedup is 4.17x.',
  )
  expect(sectionOf(text)).toMatchInlineSnapshot(`
    "Machine
      lock: passed, no other experiment here
      GPUs: passed, 2 x NVIDIA H200, driver 580.159.04
      GPU processes: passed, no other process computes on them
      GPU memory: passed, at most 0% in use before the first run
      ECC: passed, no pending memory errors
      GPU probe: passed, the fastest GPU is 1.4% ahead of the slowest in matrix products and 0.24% in copies
      GPU state: passed, same GPUs, driver, power limits and modes before and after every run
      throttling: passed, no slowdown by heat or hardware in any run; at the power limit in up to 100% of the steady samples
      GPU sharing: passed, no other process on the GPUs in any run
      GPU release: passed, every run left the GPUs free
      compile caches: passed, no block has one cold and one warm run (warm)
      not measured: peak memory allocated

    | GPUs                            | baseline           | optimized          |
    | ------------------------------- | ------------------ | ------------------ |
    | SM clock                        | 1500 MHz           | 1440 MHz           |
    | slowed down by heat or hardware | 0%                 | 0%                 |
    | at the power limit              | 100%               | 100%               |
    | hottest GPU                     | 53 °C              | 53 °C              |
    | any kernel ran (saturates)      | 100%               | 100%               |
    | power of all GPUs               | 1200 W             | 1200 W             |
    | energy per sample               | 6.00 J             | 1.50 J             |
    | GPU hours of a run              | 0.0333             | 0.0333             |
    | cost of a run                   | 0.100              | 0.100              |
    | peak memory reserved            | 50.0 GB (46.6 GiB) | 31.0 GB (28.9 GiB) |
    | allocation retries              | 2                  | 0                  |"
  `)
  expect(
    renderSections(result).find(({ title }) => title === 'the machine')?.markdown,
  ).toMatchInlineSnapshot(`
    "<details><summary>Machine: 11 passed</summary>

    | check          | state  | detail                                                                                             |
    | -------------- | ------ | -------------------------------------------------------------------------------------------------- |
    | lock           | passed | no other experiment here                                                                           |
    | GPUs           | passed | 2 x NVIDIA H200, driver 580.159.04                                                                 |
    | GPU processes  | passed | no other process computes on them                                                                  |
    | GPU memory     | passed | at most 0% in use before the first run                                                             |
    | ECC            | passed | no pending memory errors                                                                           |
    | GPU probe      | passed | the fastest GPU is 1.4% ahead of the slowest in matrix products and 0.24% in copies                |
    | GPU state      | passed | same GPUs, driver, power limits and modes before and after every run                               |
    | throttling     | passed | no slowdown by heat or hardware in any run; at the power limit in up to 100% of the steady samples |
    | GPU sharing    | passed | no other process on the GPUs in any run                                                            |
    | GPU release    | passed | every run left the GPUs free                                                                       |
    | compile caches | passed | no block has one cold and one warm run (warm)                                                      |

    | GPUs                            | baseline           | optimized          |
    | ------------------------------- | ------------------ | ------------------ |
    | SM clock                        | 1500 MHz           | 1440 MHz           |
    | slowed down by heat or hardware | 0%                 | 0%                 |
    | at the power limit              | 100%               | 100%               |
    | hottest GPU                     | 53 °C              | 53 °C              |
    | any kernel ran (saturates)      | 100%               | 100%               |
    | power of all GPUs               | 1200 W             | 1200 W             |
    | energy per sample               | 6.00 J             | 1.50 J             |
    | GPU hours of a run              | 0.0333             | 0.0333             |
    | cost of a run                   | 0.100              | 0.100              |
    | peak memory reserved            | 50.0 GB (46.6 GiB) | 31.0 GB (28.9 GiB) |
    | allocation retries              | 2                  | 0                  |

    Not measured: peak memory allocated.

    [What each check asks](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#checks)

    </details>"
  `)
})

test('without a GPU: one reason for all, and no number', async () => {
  const nothing = { status: 'not-measured', reason: 'nvidia-smi cannot be started' } as const
  const preflight = aPreflight({ gpus: nothing, processes: nothing, probes: nothing })
  const unseen = aMachineRecord({ gpus: [], samples: [], energy: [], processes: [], fingerprint: null })
  const launched = await launchedPlan(EXPERIMENT)
  const records = Object.fromEntries(launched.map(({ outcome }) => [outcome.run.id, unseen]))
  const result = assess(aRequest({ experiment: EXPERIMENT }), launched, watched(records, preflight))
  expect(sectionOf(renderTerminal(result))).toMatchInlineSnapshot(`
    "Machine
      lock: passed, no other experiment here
      GPUs, GPU processes, GPU memory, ECC, GPU probe, GPU state, throttling, GPU sharing, GPU release: not measured, nvidia-smi cannot be started
      compile caches: passed, no block has one cold and one warm run (warm)
      not measured: SM clock, slowed down by heat or hardware, at the power limit, hottest GPU, any kernel ran (saturates), power of all GPUs, energy per sample, peak memory reserved, peak memory allocated, allocation retries"
  `)
})

test('without a GPU: a gate of the cost says what it counts, and nothing beside it calls that not measured', async () => {
  const nothing = { status: 'not-measured', reason: 'nvidia-smi cannot be started' } as const
  const preflight = aPreflight({ gpus: nothing, processes: nothing, probes: nothing })
  const launch = { ...EXPERIMENT.launch, price_per_gpu_hour: 3 }
  const gates = gatesFile.parse({ cost_per_run: { at_most: 5 } })
  const experiment = { ...EXPERIMENT, launch, gates }
  const text = renderTerminal(assess(aRequest({ experiment }), LAUNCHED, watched({}, preflight)))
  expect(text).toMatch(/\| cost_per_run \| 0\.100 +\| 0\.100 /)
  expect(text).toContain('at 3 for an hour of a GPU, each process counted as one')
  expect(sectionOf(text)).not.toMatch(/GPU hours|cost of a run/)
})

test('a block that was repeated: the reason, the launches that do not count and those that do', () => {
  const repeats = LAUNCHED.map(({ launch, outcome }) => ({
    launch: launch && { ...launch, runId: repeatOf(outcome.run).id },
    outcome: { ...outcome, run: repeatOf(outcome.run) },
  }))
  const records = {
    '01-block-1-baseline': at(1500),
    '02-block-1-optimized': at(900, 0x40),
    '01-block-1-baseline-repeat': at(1500),
    '02-block-1-optimized-repeat': at(1440),
  }
  const result = assess(aRequest({ experiment: EXPERIMENT }), [...LAUNCHED, ...repeats], watched(records))
  const sections = renderSections(result)
  expect(sections.find(({ title }) => title === 'all launches')?.markdown).toMatchInlineSnapshot(`
    "<details><summary>All launches: 4 finished</summary>

    | launch                     | seed | status                   | per sample | median step | data wait    | held-out loss | skipped updates | compile cache | set-up | wall       |
    | -------------------------- | ---- | ------------------------ | ---------- | ----------- | ------------ | ------------- | --------------- | ------------- | ------ | ---------- |
    | block 1, baseline          | 1    | finished; does not count | 5.00 ms    | 80.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |
    | block 1, optimized         | 1    | finished; does not count | 1.25 ms    | 20.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |
    | block 1, baseline, repeat  | 1    | finished                 | 5.00 ms    | 80.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |
    | block 1, optimized, repeat | 1    | finished                 | 1.25 ms    | 20.0 ms     | not measured | 0.020000      | 0               | warm          | 0 s    | 1 min 00 s |

    </details>"
  `)
  expect(sections[0]?.markdown).toMatchInlineSnapshot(`
    "## ❓ Speedproof: two-task inconclusive on this host

    **Why:** speedup inconclusive: no valid interval from 1 block; use at least 2 blocks, or accept the estimate with evidence: point; loss&#95;delta inconclusive: no valid interval from 1 block; use at least 3 blocks, or accept the estimate with evidence: point ([how a verdict is made](https://github.com/speedproof/speedproof/blob/main/docs/verdict.md#the-four-verdicts))"
  `)
})
