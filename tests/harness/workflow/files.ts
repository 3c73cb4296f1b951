// The workflows of this repository and of its examples, and where a `uses:` that means this repository leads.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../fixtures/processes/launching.ts'

/** Our own name in `uses:`, for whoever copies an example. */
const OWN_NAME = 'speedproof/speedproof'

export const WORKFLOWS = filesIn('.github/workflows')
export const EXAMPLES = filesIn('examples/workflows')

export function readOwnFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The path below the root, or null where the reference is to somebody else's repository. */
export function ownPath(uses: string): string | null {
  if (uses.startsWith('$/')) return uses.slice('$/'.length)
  const [path = ''] = uses.split('@', 1)
  if (path === OWN_NAME) return ''
  return path.startsWith(`${OWN_NAME}/`) ? path.slice(OWN_NAME.length + 1) : null
}

function filesIn(folder: string): string[] {
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.yml'))
  return names.map((name) => `${folder}/${name}`).sort()
}
