// A verdict and its page come from one thread, and no trouble with the page takes the verdict away.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { judgeWithPage, makePageApart } from '../../src/action/judge-apart.ts'

const THREAD = fileURLToPath(new URL('../fixtures/actions/judging-thread.ts', import.meta.url))
const JUDGED = { kind: 'judged', judged: { result: 'a result', other: 'nothing' } }
const PAGE = { kind: 'page', page: { status: 'made', text: '<p>', verdict: 'passed' } }

const [, entry = ''] = process.argv
beforeAll(() => {
  process.argv[1] = THREAD
})
afterAll(() => {
  process.argv[1] = entry
})

function judgeAs(...answers: readonly unknown[]) {
  return judgeWithPage({ experiment: null, branch: 'main', resultFile: JSON.stringify(answers) })
}

test('gives both', async () => {
  expect(await judgeAs(JUDGED, PAGE)).toEqual({ ...JUDGED.judged, page: PAGE.page })
})

test.each([
  ['die', /ended/],
  ['throw', /no such page/],
  ['fill the memory', /MB of memory/],
])('gives the verdict where the page makes the thread %s', async (trouble, reason) => {
  const { page, ...judged } = await judgeAs(JUDGED, trouble)
  expect(judged).toEqual(JUDGED.judged)
  expect(page).toEqual({ status: 'not-made', reason: expect.stringMatching(reason) })
})

test('throws where there is no verdict', async () => {
  await expect(judgeAs('die')).rejects.toThrow(/ended/)
  await expect(judgeAs({ kind: 'unreadable', reason: 'it is torn' })).rejects.toThrow('it is torn')
})

test('a page alone never throws', async () => {
  expect(await makePageApart([JSON.stringify(['throw'])])).toMatchObject({ status: 'not-made' })
  expect(await makePageApart([JSON.stringify([PAGE])])).toEqual(PAGE.page)
})
