// The harness behaves as the runner and GitHub do; what it lets pass would be proof of nothing.
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startFakeGitHub } from './fake-github.ts'
import { parseKeyValueFile } from './file-commands.ts'
import { refuse } from './local-server.ts'
import { startAction } from './runner.ts'
import { openStepLog } from './step-log.ts'
import { parseCommand } from './workflow-commands.ts'

const STUBBORN = fileURLToPath(new URL('../fixtures/actions/stubborn.ts', import.meta.url))

describe('a log line', () => {
  it.each([
    ['::warning title=a%2Cb,file=x::50%25%0Adone', { title: 'a,b', file: 'x' }, '50%\ndone'],
    [' \t ::warning::after blanks', {}, 'after blanks'],
    ['step 3 ##[warning title=a%3Bb]in the middle', { title: 'a;b' }, 'in the middle'],
    ['::WARNING::any case', {}, 'any case'],
  ])('%s is a command', (line, properties, data) => {
    expect(parseCommand(line)).toEqual({ name: 'warning', properties, data })
  })

  it.each(['loss ::warning::x', '::unknown::x', '::warning:: '.slice(0, 9), '##[unknown]x'])(
    '%s is not a command',
    (line) => expect(parseCommand(line)).toBeNull(),
  )
})

describe('a log', () => {
  function read(...chunks: string[]) {
    const { log, reader } = openStepLog(() => {})
    const stream = reader()
    for (const chunk of chunks) stream.write(Buffer.from(chunk))
    stream.end()
    return log
  }

  it('has a new line after every \\r, \\n and \\r\\n, and not between chunks', () => {
    expect(read('a\rb\nc\r', '\nd', 'e\r').lines).toEqual(['a', 'b', 'c', 'de'])
  })

  it('takes a command after a lone carriage return', () => {
    expect(read('80%\r::error::x\n').commands).toMatchObject([{ name: 'error' }])
  })

  it('hides a secret from the line on that masks it', () => {
    expect(read('hush\n::add-mask::hush\nhush!\n').lines).toEqual(['hush', '::add-mask::***', '***!'])
  })

  it('has no commands between stop-commands and its token', () => {
    const { commands } = read('::stop-commands::T0k\n::error::a\n::T0k::\n::error::b\n')
    expect(commands).toMatchObject([{ name: 'error', data: 'b' }])
  })
})

describe('a command file', () => {
  it('has single lines and heredocs', () => {
    expect(parseKeyValueFile('a=1=2\n\nb<<END\nx\n\ny\nEND\nc=\n')).toEqual({ a: '1=2', b: 'x\n\ny', c: '' })
  })

  it.each(['verdict', 'a<<END\nx\n', '<<END\nEND\n'])('%j fails the step', (text) => {
    expect(() => parseKeyValueFile(text)).toThrow()
  })
})

describe('a cancelled action', () => {
  const delays = { beforeTerminate: 300, beforeKill: 300 }

  async function cancel(ignore: string) {
    await using action = await startAction({
      main: STUBBORN,
      post: STUBBORN,
      inputs: { ignore },
      cancelDelaysMs: delays,
    })
    await action.waitForLog('ready')
    return await action.cancel()
  }

  it('may end by itself at SIGINT', async () => {
    const { main } = await cancel('')
    expect(main).toMatchObject({ exitCode: 130, lines: ['ready', 'got SIGINT'] })
  })

  it('is terminated when it does not', async () => {
    const { main } = await cancel('SIGINT')
    expect(main).toMatchObject({ exitCode: 130, lines: ['ready', 'got SIGINT', 'got SIGTERM'] })
  })

  it('is killed in the end, and post has what main has saved', async () => {
    const { main, post } = await cancel('SIGINT SIGTERM')
    expect(main).toMatchObject({ signal: 'SIGKILL' })
    expect(post).toMatchObject({ exitCode: 0, lines: ['post cleans up'] })
  })
})

describe('the fake GitHub', () => {
  const comments = '/repos/octo-lab/solver/issues/7/comments'
  const headers = { authorization: 'token job-token' }

  it.each([
    ['a call outside of the description', `/repos/octo-lab/solver/issues/7/labels`, {}],
    ['an unknown parameter', `${comments}?perpage=100`, {}],
    ['a parameter of the wrong type', `${comments}?per_page=all`, {}],
    ['a body without its field', comments, { method: 'POST', body: '{"text":"x"}' }],
  ])('objects to %s', async (_, path, request) => {
    const github = await startFakeGitHub()
    await fetch(github.url + path, { headers, ...request }).catch(() => {})
    await expect(github[Symbol.asyncDispose]()).rejects.toThrow('Not as GitHub describes it')
  })

  it('objects to an answer that GitHub would not give', async () => {
    const github = await startFakeGitHub()
    github.failNext('issues/list-comments', { kind: 'answer', status: 200, body: [{ id: 'one' }] })
    await fetch(github.url + comments, { headers })
    await expect(github[Symbol.asyncDispose]()).rejects.toThrow('answer 200/0/id: must be integer')
  })

  it('counts characters, so 65,536 emoji are not too long', async () => {
    await using github = await startFakeGitHub()
    const post = async (body: string) =>
      (await fetch(github.url + comments, { headers, method: 'POST', body: JSON.stringify({ body }) })).status
    expect(await post('🌈'.repeat(65_536))).toBe(201)
    expect(await post('🌈'.repeat(65_537))).toBe(422)
  })

  it('refuses an unknown token', async () => {
    await using github = await startFakeGitHub()
    const answer = await fetch(github.url + comments, { headers: { authorization: 'token other' } })
    expect(answer.status).toBe(401)
    expect(refuse(401, 'Bad credentials')).toMatchObject({ body: await answer.json() })
  })
})
