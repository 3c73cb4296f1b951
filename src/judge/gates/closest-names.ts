// Sorts candidate names by edit distance, closest first, to suggest what a typo meant.
import leven from 'leven'

/** A trainer may write as many and as long names as it likes; comparing them all would take too long. */
const LONGEST = 80
const MOST = 1000

export function closestNames(name: string, others: readonly string[]): string[] {
  const distanceTo = (other: string) => leven(name.slice(0, LONGEST), other)
  return others
    .filter(({ length }) => length <= LONGEST)
    .toSorted()
    .slice(0, MOST)
    .toSorted((a, b) => distanceTo(a) - distanceTo(b))
}
