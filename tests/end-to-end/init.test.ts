// speedproof init, from a folder with a script to files that pass plan.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { aFolder, PYTHON, ROOT } from '../fixtures/processes/launching.ts'
import { speedproof } from '../harness/command-line.ts'

const FILE = 'configs/experiments/my-change.yaml'
const WORKFLOW = '.github/workflows/gpu-on-label.yml'

async function aRepository(example: string): Promise<string> {
  const folder = await aFolder()
  await cp(join(ROOT, 'examples', example, 'train.py'), join(folder, 'train.py'))
  // Found by the interpreter of the tests, which has no accelerate.
  const launcher = join(folder, 'accelerate', 'commands')
  await mkdir(launcher, { recursive: true })
  await writeFile(join(launcher, 'launch.py'), '')
  return folder
}

const init = (folder: string, ...flags: string[]) =>
  speedproof(
    folder,
    'init',
    '--script',
    'train.py',
    '--python',
    PYTHON,
    '--switch',
    'flash=False:True',
    ...flags,
  )

it.each(['hugging-face', 'lightning', 'accelerate', 'hydra', 'plain-loop'])(
  'what it writes for the %s example passes plan',
  async (example) => {
    const folder = await aRepository(example)
    const { exitCode, stdout, stderr } = await init(folder, '--nproc', '2')
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`1. speedproof try ${FILE}`)
    const planned = await speedproof(folder, 'plan', FILE)
    expect([planned.exitCode, planned.stderr]).toEqual([0, ''])
    const workflow = await readFile(join(folder, WORKFLOW), 'utf8')
    expect(workflow).toContain(`experiment: ${FILE}`)
    expect(workflow).not.toContain(PYTHON)
  },
)

it('overwrites nothing without --force, and leaves the workflow of another experiment alone', async () => {
  const folder = await aRepository('plain-loop')
  await mkdir(join(folder, '.github/workflows'), { recursive: true })
  await writeFile(join(folder, WORKFLOW), 'mine')
  expect((await init(folder)).stdout).toContain('stays as it is')
  await writeFile(join(folder, FILE), 'mine too')
  const again = await init(folder)
  expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining('--force')])
  expect(await readFile(join(folder, FILE), 'utf8')).toBe('mine too')
  expect(await readFile(join(folder, WORKFLOW), 'utf8')).toBe('mine')
  expect((await init(folder, '--force')).exitCode).toBe(0)
  expect(await readFile(join(folder, WORKFLOW), 'utf8')).toContain('GPU check')
})

it.each([
  ['no script', [], '--script: missing'],
  ['a script that is not there', ['--script', 'none.py'], '--script: none.py'],
  ['an unknown framework', ['--script', 'train.py', '--framework', 'keras'], '--framework: got "keras"'],
  ['no number', ['--script', 'train.py', '--nproc', 'all'], '--nproc: got "all"'],
  ['a name that is a path', ['--script', 'train.py', '--name', '../x'], 'lowercase letters'],
])('%s is refused before anything is written', async (_, flags, message) => {
  const folder = await aRepository('plain-loop')
  const { exitCode, stdout, stderr } = await speedproof(folder, 'init', ...flags)
  expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)])
})

/** Answers each question once it is asked; an answer of Ctrl-D ends the input. */
const TERMINAL = `
import json, os, pty, sys
words, talk = json.loads(sys.argv[1]), json.loads(sys.argv[2])
process, terminal = pty.fork()
if process == 0:
    os.execv(words[0], words)
seen = b""
while True:
    try:
        seen += os.read(terminal, 4096)
    except OSError:
        break
    if talk and talk[0][0].encode() in seen:
        os.write(terminal, talk.pop(0)[1].encode())
sys.stdout.write(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
`

async function onTerminal(folder: string, talk: readonly (readonly [question: string, answer: string])[]) {
  const words = [process.execPath, join(ROOT, 'lib', 'cli.js'), 'init', '--python', PYTHON]
  const asked = promisify(execFile)(PYTHON, ['-c', TERMINAL, JSON.stringify(words), JSON.stringify(talk)], {
    cwd: folder,
    env: { ...process.env, XDG_STATE_HOME: folder },
  })
  return await asked.then(
    () => 0,
    (error: { code: number }) => error.code,
  )
}

it('asks on a terminal for what is missing', async () => {
  const folder = await aRepository('plain-loop')
  const answers = [
    ['starts the training', 'train.py\n'],
    ['KEY=BASELINE:OPTIMIZED', 'flash=False:True\n'],
    ['Samples of one step', '16\n'],
  ] as const
  expect(await onTerminal(folder, answers)).toBe(0)
  const text = await readFile(join(folder, FILE), 'utf8')
  for (const part of ['speed_keys: [flash]', 'samples_per_step: 16']) expect(text).toContain(part)
})

it('writes nothing where a question is left by Ctrl-D', async () => {
  const folder = await aRepository('plain-loop')
  const answers = [
    ['starts the training', 'train.py\n'],
    ['KEY=BASELINE:OPTIMIZED', '\u0004'],
  ] as const
  expect(await onTerminal(folder, answers)).toBe(130)
  expect(existsSync(join(folder, FILE))).toBe(false)
})
