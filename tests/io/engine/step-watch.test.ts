// What the files of the agents, srun and the clock say together of a job step.
import { describe, expect, test } from 'vitest'
import { agentState } from '../../../src/io/engine/slurm/agents.ts'
import { type Signs, StepWatch } from '../../../src/io/engine/slurm/step-watch.ts'

const RUNS = 'starting\n'
const DONE = 'starting\nended\nexit 0\nclean\n'

/** What each node's agent has written by then; null says that srun runs. */
type Look = readonly [now: number, first: string, second: string, srun?: Signs['srun']]

function found(looks: readonly Look[], timeoutSeconds = 100, isCancelled = false) {
  const watch = new StepWatch(timeoutSeconds)
  let finding = null
  for (const [now, first, second, srun = null] of looks) {
    const agents = [agentState('n1', first), agentState('n2', second)]
    finding = watch.look({ agents, srun, isCancelled, now })
  }
  return finding
}

const killed = { how: 'by SIGKILL', message: null }

describe('a step', () => {
  test('is over when each agent is clean, and took until the last command ended', () => {
    const looks: Look[] = [
      [0, '', ''],
      [5, DONE, RUNS],
      [7, DONE, 'starting\nended\n'],
      [9, DONE, DONE],
    ]
    expect(found(looks.slice(0, 3))).toBeNull()
    expect(found(looks)).toEqual({ status: 'exited', exitCode: 0, wallSeconds: 7 })
  })

  test('is over without srun, and goes on with it', () => {
    expect(
      found([
        [0, RUNS, RUNS],
        [1, DONE, DONE, killed],
      ]),
    ).toMatchObject({ status: 'exited' })
    expect(
      found([
        [0, RUNS, RUNS],
        [1, RUNS, RUNS, killed],
      ]),
    ).toBeNull()
    expect(
      found([
        [0, RUNS, RUNS],
        [1, RUNS, RUNS, killed],
        [12, RUNS, `${RUNS}alive\n`, killed],
      ]),
    ).toMatchObject({
      status: 'cancelled',
      because: expect.stringContaining('srun ended by SIGKILL'),
    })
  })

  test.each([
    ['exit 3\n', { status: 'exited', exitCode: 3 }],
    ['signal 9\n', { status: 'signalled', signal: 'SIGKILL' }],
    ['failed No such file or directory\n', { status: 'not-started', message: expect.stringContaining('n2') }],
  ])('that has failed on one node (%s) leaves the other some time, and then tells that', (said, expected) => {
    const failed = `starting\nended\n${said}clean\n`
    expect(
      found([
        [0, RUNS, RUNS],
        [1, RUNS, failed],
        [10, RUNS, failed],
      ]),
    ).toBeNull()
    expect(
      found([
        [0, RUNS, RUNS],
        [1, RUNS, failed],
        [17, `${RUNS}alive\n`, failed],
      ]),
    ).toMatchObject(expected)
  })

  test('that its caller did not stop says what stopped it', () => {
    const stopped = (reason: string) => `starting\nstopping ${reason}\nended\nsignal 15\nclean\n`
    expect(
      found([
        [0, RUNS, RUNS],
        [1, DONE, stopped('SIGTERM')],
      ]),
    ).toMatchObject({
      status: 'cancelled',
      because: expect.stringContaining('node n2 by SIGTERM'),
    })
    expect(
      found([
        [0, RUNS, RUNS],
        [1, stopped('lease'), stopped('lease')],
      ]),
    ).toMatchObject({
      because: expect.stringContaining('no sign of life of Speedproof'),
    })
  })

  test('whose agent says nothing any more is cut', () => {
    const alive = (times: number) => RUNS + 'alive\n'.repeat(times)
    expect(
      found([
        [0, alive(0), alive(0)],
        [50, alive(9), alive(0)],
      ]),
    ).toBeNull()
    expect(
      found([
        [0, alive(0), alive(0)],
        [61, alive(12), alive(0)],
      ]),
    ).toMatchObject({
      because: expect.stringContaining('the agent on node n2 has said nothing'),
    })
  })

  test('one of whose nodes never begins is cut', () => {
    expect(
      found(
        [
          [0, RUNS, ''],
          [60, `${RUNS}alive\n`, ''],
          [170, `${RUNS}alive\nalive\n`, ''],
        ],
        1000,
      ),
    ).not.toMatchObject({
      because: expect.stringContaining('had not begun'),
    })
    const looks = Array.from({ length: 11 }, (_, at): Look => [at * 20, RUNS + 'alive\n'.repeat(at), ''])
    expect(found(looks, 1000)).toMatchObject({ because: expect.stringContaining('node n2 had not begun') })
  })

  test('has a limit and a caller who may cancel', () => {
    expect(
      found(
        [
          [0, RUNS, RUNS],
          [11, RUNS, RUNS],
        ],
        10,
      ),
    ).toEqual({ status: 'timed-out', wallSeconds: 11 })
    expect(found([[0, RUNS, RUNS]], 10, true)).toEqual({ status: 'cancelled', wallSeconds: 0 })
    // An end that comes late to be seen is none that came late.
    const ended = 'starting\nended\n'
    expect(
      found(
        [
          [0, RUNS, RUNS],
          [9, ended, ended],
          [30, `${ended}alive\n`, ended],
        ],
        10,
      ),
    ).toBeNull()
  })

  test('half a line says nothing', () => {
    expect(agentState('n1', 'starting\nclea')).toMatchObject({ hasStarted: true, isClean: false })
  })
})
