import { expect, test } from 'vitest'
import { checkNeighbours } from '../../../src/judge/machine/rented.ts'
import { aPreflight } from '../../fixtures/machine/records.ts'

test('a report of a rented machine says that its neighbours cannot be seen', () => {
  const rented = aPreflight({ host: { ...aPreflight().host, isRented: true } })
  expect(checkNeighbours(rented)).toMatchObject([{ name: 'neighbours', status: 'not-measured' }])
})

test("a machine of one's own has none to speak of", () => {
  expect([checkNeighbours(aPreflight()), checkNeighbours(null)]).toEqual([[], []])
})
