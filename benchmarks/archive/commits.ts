// Whether each recorded gate ran the code of the commit that its page names: by the trainer's hash, from git's history.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { hashCode, hashSources } from '../../src/io/run/code-hash.ts'
import { PACKED, ROOT, recordNames, UNPACKED } from './layout.ts'

const PAGE = 'benchmarks/records/gate/README.md'
/** A gate's row: its record, and the commit. */
const ROW = /^\| \[`(?<name>[^`]+)`\][^|]*\|[^|]*\| (?<commit>[^|]+) \|/gm

const recorded = z.object({
  launches: z.array(z.object({ code: z.object({ before: z.string(), after: z.string() }).nullable() })),
})

/** Whether git can show every commit; a clone as CI makes it has the last one alone. */
export function hasHistory(): boolean {
  const { stdout } = spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: ROOT })
  return String(stdout).trim() === 'false'
}

/** What is wrong, a line each. */
export async function wrongCommits(): Promise<string[]> {
  const rows = pageRows()
  const problems = [...unlike(rows.map(({ name }) => name))]
  for (const { name, commit } of rows) {
    const { launches } = recorded.parse(
      JSON.parse(readFileSync(join(UNPACKED, 'gate', name, 'result.json'), 'utf8')),
    )
    const hashes = new Set(launches.flatMap(({ code }) => (code === null ? [] : [code.before, code.after])))
    const wanted = await trainerAt(commit)
    if (hashes.size !== 1 || !hashes.has(wanted))
      problems.push(`gate/${name}: did not run the trainer of ${commit}, ${wanted.slice(0, 12)}`)
  }
  return problems
}

function pageRows(): { name: string; commit: string }[] {
  const page = readFileSync(join(PACKED, 'gate', 'README.md'), 'utf8')
  return [...page.matchAll(ROW)].flatMap(({ groups }) => {
    const commit = groups?.commit?.match(/\b[0-9a-f]{7}\b/)?.[0]
    return groups?.name && commit ? [{ name: groups.name, commit }] : []
  })
}

/** Gates that only the page or only the folder has. */
function unlike(named: readonly string[]): string[] {
  const packed = recordNames().flatMap((name) => (name.startsWith('gate/') ? [name.slice(5)] : []))
  return [
    ...packed.filter((name) => !named.includes(name)).map((name) => `${PAGE}: names no commit for ${name}`),
    ...named.filter((name) => !packed.includes(name)).map((name) => `${PAGE}: ${name} is not recorded`),
  ]
}

async function trainerAt(commit: string): Promise<string> {
  const { status, stdout, stderr } = spawnSync('git', ['archive', commit, 'trainer'], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  })
  if (status !== 0)
    throw new Error(
      `${PAGE}: git cannot read ${commit} (${String(stderr).trim()}); name a commit of this repository`,
    )
  const folder = mkdtempSync(join(tmpdir(), 'speedproof-trainer-'))
  try {
    execFileSync('tar', ['-x', '-C', folder], { input: stdout })
    const sources = await hashSources({ module: 'trainer' }, folder, folder)
    if (sources === null) throw new Error(`${PAGE}: ${commit} has no trainer`)
    return hashCode(sources)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
