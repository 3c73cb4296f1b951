// Names by how near they are to one that is not among them: what was meant by a slip of the pen stands first.
import leven from 'leven'

/** Longer names, and more of them, are no slip, and a trainer may write as many as it likes. */
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
