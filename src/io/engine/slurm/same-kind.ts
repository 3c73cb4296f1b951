// After --resume: are the nodes of the new allocation of the kind that the kept blocks were measured on?
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RunError } from '../../../errors.ts'
import { listed } from '../../../text/wording.ts'
import { writeOwnFile } from '../../folder/own-file.ts'
import { tryParseJson } from '../../system/parse-json.ts'
import { readOutput } from '../../system/read-text.ts'
import { plainText } from '../../system/sanitize.ts'
import type { SlurmNode } from './commands.ts'

const FILE = 'nodes.json'
const MAX_BYTES = 1024 ** 2
const nodesFile = z.array(z.object({ name: z.string(), kind: z.string() }))

export async function noteNodes(folder: string, nodes: readonly SlurmNode[]): Promise<void> {
  const noted = nodes.map(({ name, kind }) => ({ name, kind }))
  await writeOwnFile(join(folder, FILE), `${JSON.stringify(noted)}\n`)
}

/** `folders`: of earlier allocations of the experiment. Throws a RunError for nodes of another kind. */
export async function requireSameKind(
  folders: string,
  nodes: readonly SlurmNode[],
  note: (message: string) => void,
): Promise<void> {
  const earlier = await lastNoted(folders)
  if (earlier === null) return
  const [before, now] = [kindsOf(earlier), kindsOf(nodes)]
  if (before.join('\n') !== now.join('\n'))
    throw new RunError(
      `--resume: the kept blocks were measured on ${plainText(listed([...new Set(before)]))}, but this allocation has ${plainText(listed([...new Set(now)]))}. Name nodes of that kind with launch.slurm, or start without --resume`,
    )
  note(
    `--resume goes on in a new allocation, on nodes of the same kind: ${plainText(listed([...new Set(now)]))}`,
  )
}

function kindsOf(nodes: readonly { readonly kind: string }[]): string[] {
  return nodes.map(({ kind }) => kind).sort()
}

/** Folders are named by their time, so the last one is the latest. */
async function lastNoted(folders: string) {
  const names = (await readdir(folders).catch(() => [])).sort().reverse()
  for (const name of names) {
    const text = await readOutput(join(folders, name, FILE), MAX_BYTES).catch(() => '')
    const noted = nodesFile.safeParse(tryParseJson(text))
    if (noted.success) return noted.data
  }
  return null
}
