// `npm run records`: unpacks the records into out/records and judges them all again. With `--pack` it packs them.
import { parseArgs } from 'node:util'
import { hasHistory, wrongCommits } from './commits.ts'
import { recordNames } from './layout.ts'
import { pack, unpack } from './pack.ts'
import { differing, judgedOtherwise, judgeRecords, writeVerdicts } from './verdicts.ts'

const USAGE = `usage: npm run records                        unpack all records into out/records, and judge them again
       npm run records -- --unpack            unpack them alone
       npm run records -- --pack [NAME...]    pack out/records/NAME, or every record that there is already
       npm run records -- --write             unpack, judge, and make verdicts.json of what is found`

const { values, positionals } = parseArgs({
  options: { unpack: { type: 'boolean' }, pack: { type: 'boolean' }, write: { type: 'boolean' } },
  allowPositionals: true,
  strict: false, // an unknown option gets the usage below
})

const known = ['unpack', 'pack', 'write']
if (
  Object.keys(values).length > 1 ||
  Object.keys(values).some((name) => !known.includes(name)) ||
  (positionals.length > 0 && !values.pack)
) {
  console.error(USAGE)
  process.exitCode = 2
} else {
  try {
    if (values.pack) {
      packRecords()
    } else {
      for (const name of recordNames()) unpack(name)
      if (!values.unpack) await checkRecords()
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 2
  }
}

function packRecords(): void {
  const names = positionals.map((name) => name.replace(/^(\.\/)?out\/records\//, '').replace(/\/+$/, ''))
  const all = recordNames()
  for (const name of names) {
    const inside = all.find((other) => other.startsWith(`${name}/`))
    if (inside)
      throw new Error(`--pack ${name}: holds the record ${inside}; name each of its records instead`)
  }
  for (const name of names.length > 0 ? names : all) {
    pack(name)
    console.log(`packed ${name}`)
  }
}

async function checkRecords(): Promise<void> {
  const verdicts = await judgeRecords()
  const [experiments, ladders] = [verdicts.experiments, verdicts.ladders].map(
    (found) => Object.keys(found).length,
  )
  console.log(`judged ${experiments} experiments and ${ladders} ladders in out/records`)
  for (const line of judgedOtherwise(verdicts)) console.log(line)
  if (values.write) writeVerdicts(verdicts)
  const problems = differing(verdicts).map(
    (name) =>
      `${name}: the verdict is another than in benchmarks/records/verdicts.json; see benchmarks/README.md`,
  )
  if (hasHistory()) problems.push(...(await wrongCommits()))
  else console.log('which commit each gate ran is not checked: this clone lacks the history')
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}
