import { expect, test } from 'vitest'
import { LiveView } from '../../../../src/io/process/log/live-view.ts'

function aView() {
  const clock = { milliseconds: 0 }
  const shown: string[] = []
  const view = new LiveView(
    (line) => shown.push(line),
    () => clock.milliseconds,
  )
  const offer = (text: string) => view.offer({ bytes: Buffer.from(text), wasCut: false })
  return { clock, shown, view, offer }
}

test('hides what comes faster than 50 lines a second, and counts it', () => {
  const { clock, shown, view, offer } = aView()
  for (let line = 1; line <= 60; line++) offer(`${line}`)
  expect(shown).toHaveLength(50)
  clock.milliseconds = 1000
  offer('later')
  view.end()
  expect(shown.slice(49)).toEqual(['│ 50', '│ … 10 lines not shown, the log file has them', '│ later'])
})

test('counts what was hidden at the very end', () => {
  const { shown, view, offer } = aView()
  for (let line = 1; line <= 51; line++) offer(`${line}`)
  view.end()
  expect(shown.at(-1)).toBe('│ … 1 lines not shown, the log file has them')
})

test('leaves out empty lines', () => {
  const { shown, offer } = aView()
  offer('')
  offer('a')
  expect(shown).toEqual(['│ a'])
})
