// A dstack server that answers late, wrongly or not at all.
import { describe, expect, it } from 'vitest'
import { runSpec } from '../../../src/cloud/request.ts'
import { ConfigError, RunError } from '../../../src/errors.ts'
import { Dstack } from '../../../src/io/cloud/dstack.ts'
import { type Answer, type Request, startLocalServer } from '../../harness/local-server.ts'

const PATIENCE = { attempts: 3, firstDelayMs: 1, totalMs: 60_000 }
const RUN = {
  id: '0b3f',
  submitted_at: '2026-11-29T02:38:16.820929Z',
  status: 'submitted',
  run_spec: { run_name: 'speedproof-1-1', configuration: { max_duration: 3600 } },
  jobs: [],
}
const SPEC = runSpec(
  'speedproof-1-1',
  {
    ...{ gpu: 'H100', maxPricePerHour: 3, maxMinutes: 60, backends: [], regions: [], image: null },
    ...{ diskGb: 100, fleet: 'speedproof', communityCloud: false },
  },
  null,
)

const ok = (body: unknown): Answer => ({ kind: 'answer', status: 200, body })
const refused = (status: number, detail: unknown): Answer => ({ kind: 'answer', status, body: { detail } })
const NOT_THERE = refused(400, [{ msg: 'Run not found', code: 'resource_not_exists' }])

/** Gives the answers in turn, the last one for ever, and keeps what it was asked. */
async function withServer(
  answers: readonly Answer[],
  act: (dstack: Dstack, asked: readonly Request[]) => Promise<void>,
  patience = PATIENCE,
): Promise<void> {
  const asked: Request[] = []
  await using server = await startLocalServer((request) => {
    asked.push(request)
    return answers[Math.min(asked.length, answers.length) - 1] ?? NOT_THERE
  })
  await act(new Dstack({ url: server.url, token: 'the-token', project: 'main', patience }), asked)
}

describe('a question', () => {
  it.each([
    ['loses the connection', { kind: 'dropped' } as const],
    ['is overloaded', refused(503, 'busy')],
    ['asks for patience', refused(429, 'slowly')],
  ])('is put again where the server %s', async (_, first) => {
    await withServer([first, ok(RUN)], async (dstack) => {
      expect(await dstack.run('speedproof-1-1')).toMatchObject({ status: 'submitted', maxSeconds: 3600 })
    })
  })

  it('that is never answered ends, and says what to look at', async () => {
    await withServer(
      [{ kind: 'hanging' }],
      async (dstack) => {
        await expect(dstack.run('speedproof-1-1')).rejects.toThrow(/no answer .*check that it runs/)
      },
      { ...PATIENCE, totalMs: 200 },
    )
  })

  it('about what is not there is no error', async () => {
    await withServer([NOT_THERE], async (dstack) => {
      expect(await dstack.run('speedproof-1-1')).toBeNull()
    })
  })

  it.each([
    ['a token that is not valid', refused(403, 'Access denied'), ConfigError, 'token'],
    ['what the server refuses', refused(400, [{ msg: 'Invalid name' }]), RunError, 'Invalid name'],
    ['another program at this address', ok('<html>'), RunError, 'dstack 0.22'],
    ['a server of another kind', ok({ id: 1 }), RunError, 'dstack 0.22'],
  ])('names %s, and asks once', async (_, answer, kind, said) => {
    await withServer([answer], async (dstack, asked) => {
      const failure = await dstack.run('speedproof-1-1').catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(kind)
      expect(String(failure)).toContain(said)
      expect(String(failure)).not.toContain('the-token')
      expect(asked).toHaveLength(1)
    })
  })

  it('takes the token to no other address', async () => {
    const away: Answer = { kind: 'answer', status: 307, headers: { location: '/elsewhere' }, body: {} }
    await withServer([away], async (dstack, asked) => {
      await expect(dstack.run('speedproof-1-1')).rejects.toThrow(RunError)
      expect(asked.map(({ url }) => url.pathname)).not.toContain('/elsewhere')
    })
  })
})

describe('an order', () => {
  it('whose answer is lost is not sent again: its name tells that it is there', async () => {
    await withServer([{ kind: 'dropped' }, ok(RUN)], async (dstack, asked) => {
      expect(await dstack.start(SPEC)).toMatchObject({ name: 'speedproof-1-1' })
      expect(asked.map(({ url }) => url.pathname.split('/').at(-1))).toEqual(['apply', 'get'])
    })
  })

  it('that never came is an error', async () => {
    await withServer([{ kind: 'dropped' }, NOT_THERE], async (dstack) => {
      await expect(dstack.start(SPEC)).rejects.toThrow('no answer')
    })
  })

  it('that is refused is an error', async () => {
    await withServer([refused(400, [{ msg: 'no fleet' }])], async (dstack) => {
      await expect(dstack.start(SPEC)).rejects.toThrow('no fleet')
    })
  })
})

it('what a server writes reaches the runner as plain text', async () => {
  const data = { backend: 'vastai', region: 'a\n::error::b', instance_id: '7\u001b[31m', price: 2 }
  const submission = { status: 'running', job_provisioning_data: data }
  await withServer([ok({ ...RUN, jobs: [{ job_submissions: [submission] }] })], async (dstack) => {
    const run = await dstack.run('speedproof-1-1')
    expect(run?.machines[0]).toMatchObject({ region: 'a::error::b', instanceId: '7' })
  })
})
