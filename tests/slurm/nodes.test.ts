// What is seen of each node on a real Slurm: facts, GPUs, whose processes are on them, and the errors of all.
import { readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { machineEvent } from '../../src/measure/machine-record.ts'
import type { Result } from '../../src/record/result.ts'
import { readResult } from '../fixtures/experiments/read-result.ts'
import { aFakeSmi, anH200 } from '../fixtures/machine/fake-smi.ts'
import { hold, letGo, onNodes, PATIENCE, ranksOf, start, variablesOf } from './on-cluster.ts'

const HELD = '01-block-1-baseline'

async function eventsOf(folder: string, file: string) {
  const text = await readFile(join(folder, 'out', 'runs', HELD, file), 'utf8').catch(() => '')
  const lines = text.split('\n').slice(0, -1)
  return lines.map((line) => machineEvent.parse(JSON.parse(line)))
}

describe.concurrent('every node', () => {
  it('is asked before the first launch, watched in each, and knows its own processes from those of another', async () => {
    const gpu = anH200()
    const smi = await aFakeSmi({ gpu: [gpu] })
    const { PATH = '', NVIDIA_FAKE } = smi.environment
    const folder = await onNodes({ design: { blocks: 1 } })
    await hold(folder, HELD)
    const running = start(folder, undefined, {
      PATH: `${PATH.split(delimiter)[0]}${delimiter}${process.env.PATH}`,
      NVIDIA_FAKE,
    })
    const ranks = await ranksOf(folder, HELD)
    const nodeOf = (pid: number) =>
      /SPEEDPROOF_RUN_MARKER=speedproof-[0-9a-f-]{36}-(\w+)/.exec(variablesOf(pid).join('\n'))?.[1] ?? ''
    const nodes = ranks.map(nodeOf)
    expect(new Set(nodes).size).toBe(2)
    const gpu_uuid = String(gpu.uuid)
    await smi.answer({ gpu: [gpu], 'compute-apps': ranks.map((pid) => ({ gpu_uuid, pid })) })
    const [first = '', second = ''] = [...nodes].sort()
    const files = { [first]: 'machine.jsonl', [second]: `machine-${second}.jsonl` }
    for (const [node, file] of Object.entries(files)) {
      const own = ranks.filter((pid) => nodeOf(pid) === node)
      await vi.waitUntil(async () => {
        const seen = (await eventsOf(folder, file)).filter(({ event }) => event === 'process')
        return seen.length === 2
      }, PATIENCE)
      const seen = (await eventsOf(folder, file)).flatMap((event) =>
        event.event === 'process' && event.is_ours ? [event.pid] : [],
      )
      expect(seen).toEqual(own)
    }
    await smi.answer({ gpu: [gpu] })
    await letGo(folder, HELD)
    await running.ended
    const text = await readFile(join(folder, 'out', 'result.json'), 'utf8')
    const { preflight, machines } = JSON.parse(text) as Pick<Result, 'preflight' | 'machines'>
    expect(preflight?.nodes?.map(({ node, status }) => [node, status])).toEqual([
      [first, 'answered'],
      [second, 'answered'],
    ])
    expect(machines[0]?.nodes.map(({ node, unlocked }) => [node, unlocked])).toEqual([
      [first, null],
      [second, null],
    ])
  })

  it('has its error files found, and a rank of the second node is named', async () => {
    const folder = await onNodes({
      baseline: { fault: 'out-of-memory', fault_rank: 1 },
      design: { blocks: 1 },
    })
    await start(folder).ended
    const { verdict } = await readResult(folder)
    expect(verdict.verdict).toBe('failed')
    expect(verdict.reason).toMatch(/out of memory/)
    expect(verdict.reason).not.toMatch(/rank 0/)
  })
})
