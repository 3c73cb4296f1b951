// Names by how near they are to one that is not among them: what was meant by a slip of the pen stands first.

/** Longer names, and more of them, are no slip, and a trainer may write as many as it likes. */
const LONGEST = 80
const MOST = 1000

export function nearestFirst(name: string, others: readonly string[]): string[] {
  return others
    .filter(({ length }) => length <= LONGEST)
    .toSorted()
    .slice(0, MOST)
    .map((other) => ({ other, distance: editDistance(name.slice(0, LONGEST), other) }))
    .toSorted((a, b) => a.distance - b.distance)
    .map(({ other }) => other)
}

/** Of Levenshtein: how many letters to add, take away or change. */
function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [row, letter] of Array.from(from).entries()) {
    const line = [row + 1]
    for (const [column, other] of Array.from(to).entries()) {
      const changed = (above[column] ?? 0) + (letter === other ? 0 : 1)
      line.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1))
    }
    above = line
  }
  return above.at(-1) ?? 0
}
