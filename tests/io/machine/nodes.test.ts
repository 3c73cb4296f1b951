import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { queryGpus } from '../../../src/io/machine/gpus.ts'
import { probeInterconnect } from '../../../src/io/machine/interconnect.ts'
import { askNodes } from '../../../src/io/machine/nodes.ts'
import { examineNodes } from '../../../src/io/machine/take-machine.ts'
import { dataHashes, hashData } from '../../../src/io/run/data-hash.ts'
import { checkInterconnect } from '../../../src/judge/machine/interconnect.ts'
import { checkAlike } from '../../../src/judge/machine/nodes.ts'
import { nodeFacts } from '../../../src/measure/machine-record.ts'
import { anExperiment } from '../../fixtures/builders.ts'
import { aFakeSmi, anH200 } from '../../fixtures/machine/fake-smi.ts'
import { nodesOnThisHost } from '../../fixtures/machine/two-nodes.ts'
import { aFolder, notCancelled, PYTHON } from '../../fixtures/processes/launching.ts'

const TWO = [anH200(), anH200({ index: 1 })]
const OTHERS = [2, 3].map((index) => anH200({ index }))
const asked = (difference: { data?: readonly string[]; python?: string } = {}) => ({
  ...{ python: PYTHON, processes: 2, data: [], cancelled: notCancelled() },
  ...difference,
})

test('each node tells its GPUs as this host would, its versions and its data', async () => {
  const [first, second] = [await aFakeSmi({ gpu: TWO }), await aFakeSmi({ gpu: OTHERS })]
  const folder = await aFolder()
  await mkdir(join(folder, 'data', 'inner'), { recursive: true })
  await writeFile(join(folder, 'data', 'a.bin'), 'one')
  await writeFile(join(folder, 'data', 'inner', 'b.bin'), 'two')
  const engine = nodesOnThisHost(folder, { n1: first.environment, n2: second.environment })
  const { nodes, port } = await askNodes(engine, asked({ data: ['data'] }))
  expect(nodes.map((node) => nodeFacts.parse(node))).toEqual(nodes)
  const place = { workingDirectory: folder, python: PYTHON }
  const places = { baseline: place, optimized: place }
  const files = await hashData(['data'], places, 'before', notCancelled())
  expect(nodes).toMatchObject([
    { node: 'n1', status: 'answered', gpus: await queryGpus(first), processes: { value: [] } },
    { node: 'n2', gpus: { value: [{ index: 2 }, { index: 3 }] }, versions: { torch: expect.any(String) } },
  ])
  const hashes = nodes.map((node) => node.status === 'answered' && node.data)
  expect(new Set(hashes)).toEqual(new Set([files && dataHashes(files, null).before.baseline]))
  expect(port).toBeGreaterThan(0)
  expect(checkAlike({ nodes: [...nodes] })).toMatchObject([{ status: 'passed' }])
})

test('what differs between nodes comes out: a GPU, data on a disk of its own', async () => {
  const [first, second] = [
    await aFakeSmi({ gpu: TWO }),
    await aFakeSmi({ gpu: OTHERS.map((gpu) => ({ ...gpu, driver_version: '560.1' })) }),
  ]
  const engine = nodesOnThisHost(await aFolder(), { n1: first.environment, n2: second.environment })
  const { nodes } = await askNodes(engine, asked({ data: ['not-there'] }))
  expect(checkAlike({ nodes: [...nodes] })).toMatchObject([
    { status: 'failed', detail: expect.stringContaining('560.1') },
  ])
})

test('a node that cannot be reached is told, and one whose interpreter is missing', async () => {
  const folder = await aFolder()
  const engine = nodesOnThisHost(folder, { n1: {}, n2: { unreachable: 'no route to host' } })
  const { nodes } = await askNodes(engine, asked())
  expect(nodes[1]).toEqual({ status: 'unreachable', node: 'n2', reason: 'no route to host' })
  const without = await askNodes(engine, asked({ python: join(folder, 'python') }))
  expect(without.nodes.map(({ status }) => status)).toEqual(['unreachable', 'unreachable'])
  expect(without.port).toBeNull()
})

test('two nodes time what is between them over gloo, which is shown and not judged', async () => {
  const engine = nodesOnThisHost(await aFolder(), { n1: {}, n2: {} })
  const { port } = await askNodes(engine, asked())
  const probe = await probeInterconnect(engine, {
    ...{ python: PYTHON, processes: 1, backend: 'gloo', port, cancelled: notCancelled() },
  })
  expect(probe).toEqual({
    status: 'measured',
    value: {
      backend: 'gloo',
      bytes: expect.any(Number),
      within: [],
      between: [{ nodes: ['n1', 'n2'], gigabytesPerSecond: expect.any(Number) }],
      transports: { within: [], between: [] },
    },
  })
})

test('a probe without the GPUs that NCCL needs ends at once, and is not measured', async () => {
  const engine = nodesOnThisHost(await aFolder(), { n1: { CUDA_VISIBLE_DEVICES: '' } })
  const request = { python: PYTHON, processes: 2, port: null, cancelled: notCancelled() }
  expect(await probeInterconnect(engine, { ...request, backend: 'nccl' })).toEqual({
    status: 'not-measured',
    reason: 'the probe ended with exit code 1 on n1: torch sees 0 GPUs, expected 2',
  })
  expect(await probeInterconnect(engine, { ...request, processes: 1, backend: 'gloo' })).toMatchObject({
    status: 'not-measured',
  })
})

test('the nodes of an experiment are examined before its first launch, and its launches read with all of them', async () => {
  const folder = await aFolder()
  const launch = {
    ...anExperiment().launch,
    ...{ python: PYTHON, nproc_per_node: 1, env: {}, interconnect: 'infiniband' as const },
  }
  const experiment = { ...anExperiment(), launch }
  const engine = nodesOnThisHost(folder, { n1: {}, n2: {} })
  const lock = { status: 'held', waitedSeconds: 0, waitedFor: null } as const
  const machine = await examineNodes(experiment, folder, engine, () => lock, notCancelled())
  const { preflight } = machine.seen
  expect(preflight?.nodes?.map(({ node, status }) => [node, status])).toEqual([
    ['n1', 'answered'],
    ['n2', 'answered'],
  ])
  expect(checkInterconnect(experiment, preflight)).toMatchObject([{ status: 'not-measured' }])
  const start = (host: string) =>
    `${JSON.stringify({ event: 'start', gpus: ['GPU-0'], fingerprint: null, node: host, started_at: 1 })}\n`
  const file = join(folder, 'machine.jsonl')
  await writeFile(file, start('n1'))
  await writeFile(join(folder, 'machine-n2.jsonl'), start('n2'))
  const sampler = await machine.watch(file)
  sampler.event({ event: 'steps', first_step: 1, step_seconds: [0.1, 0.1] } as never)
  sampler.tick()
  await sampler.stop()
  await machine.recall('01-warm-up-baseline', file)
  const records = machine.seen.records.get('01-warm-up-baseline')
  expect(records?.map(({ node, steps }) => [node, steps.map(({ last_step }) => last_step)])).toEqual([
    ['n1', [2]],
    ['n2', [2]],
  ])
})
