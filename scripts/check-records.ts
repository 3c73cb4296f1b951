// Whether each recorded gate ran the code of the commit that its page names: by the trainer's hash, from git's history.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { hashCode, hashSources } from '../src/io/run/code-hash.ts'

const GATES = 'benchmarks/gate'
/** A gate's row: its folder, and the commit. */
const ROW = /^\| \[`(?<name>[^`]+)`\][^|]*\|[^|]*\| (?<commit>[^|]+) \|/gm

const recorded = z.object({
  launches: z.array(z.object({ code: z.object({ before: z.string(), after: z.string() }).nullable() })),
})

const page = readFileSync(`${GATES}/README.md`, 'utf8')
const rows = [...page.matchAll(ROW)].map(({ groups }) => ({
  name: groups?.name ?? '',
  commit: groups?.commit?.match(/\b[0-9a-f]{7}\b/)?.[0] ?? '',
}))
const folders = readdirSync(GATES, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
)
const named = rows.flatMap(({ name, commit }) => (commit === '' ? [] : [name]))
if (named.toSorted().join() !== folders.toSorted().join())
  throw new Error(
    `${GATES}/README.md names a commit for ${named.join(', ')}, where there are ${folders.join(', ')}`,
  )
const wrong: string[] = []
for (const { name, commit } of rows) {
  const { launches } = recorded.parse(JSON.parse(readFileSync(`${GATES}/${name}/result.json`, 'utf8')))
  const hashes = new Set(launches.flatMap(({ code }) => (code === null ? [] : [code.before, code.after])))
  const wanted = await trainerAt(commit)
  const isOfCommit = hashes.size === 1 && hashes.has(wanted)
  console.log(`${name}: ${isOfCommit ? 'is' : 'is not'} the trainer of ${commit}, ${wanted.slice(0, 12)}`)
  if (!isOfCommit) wrong.push(name)
}
console.log(`${rows.length - wrong.length} of ${rows.length} records match`)
process.exitCode = wrong.length === 0 ? 0 : 1

function archiveOf(commit: string): Buffer {
  const { status, stdout, stderr } = spawnSync('git', ['archive', commit, 'trainer'], {
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status === 0) return stdout
  console.error(
    `${GATES}/README.md: ${commit} cannot be read (${String(stderr).trim()}); name a commit of this repository, or fetch its history: git fetch --unshallow`,
  )
  process.exit(2)
}

async function trainerAt(commit: string): Promise<string> {
  const archive = archiveOf(commit)
  const folder = mkdtempSync(join(tmpdir(), 'speedproof-trainer-'))
  try {
    execFileSync('tar', ['-x', '-C', folder], { input: archive })
    const sources = await hashSources({ module: 'trainer', command: 'train' }, folder, folder)
    if (sources === null) throw new Error(`${commit} has no trainer`)
    return hashCode(sources)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
