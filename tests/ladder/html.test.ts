// The HTML report of a ladder: predicted beside measured for each rung, and names that stay text.
import { expect, test } from 'vitest'
import { renderLadderPage } from '../../src/ladder/report/html.ts'
import { HOSTILE } from '../fixtures/hostile.ts'
import { aLadder, aRung, type LaunchSpec } from '../fixtures/ladders.ts'

function launches(name: string): LaunchSpec[] {
  return [
    { training: 'baseline' },
    { training: `${name} alone`, stepSeconds: 0.05 },
    { training: 'baseline', stepSeconds: 0.081 },
    { training: `sum up to ${name}`, stepSeconds: 0.05 },
  ]
}

test('draws the predicted range and the measured gain of a rung, alone and in the sum', async () => {
  const page = renderLadderPage(
    await aLadder([aRung('bf16', { predicts: '1.2 to 1.4x' })], [launches('bf16')]),
  )
  expect(page.match(/<svg class="rungs"/g)).toHaveLength(2)
  expect(page.match(/predicted: 1.20x to 1.40x/g)).toHaveLength(2)
  expect(page.match(/measured: 1.6/g)).toHaveLength(2)
  expect(page).toContain('Ladder of two-task')
})

test('draws no range where the prediction has none', async () => {
  const page = renderLadderPage(await aLadder([aRung('bf16', { predicts: 'no gain' })], [launches('bf16')]))
  expect(page).not.toContain('predicted: ')
  expect(page).toContain('no gain')
})

test.each(Object.entries(HOSTILE))('%s in a rung stays text', async (_, text) => {
  const rung = aRung(text, { predicts: text, note: text })
  const page = renderLadderPage(await aLadder([rung], [launches(text)]))
  const markup = page.replaceAll(/<(script|style)[^>]*>.*?<\/\1>/gs, '')
  expect(markup.match(/<(?:script|img)|<[^>]+\son[a-z]+=/g)).toBeNull()
})
