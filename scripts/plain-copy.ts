// Copies the repository to a folder whose workflows say nothing that actionlint and act do not know yet: `uses: $/` is
// a plain path, `queue: max` is not there. The examples stand among them, as their users copy them.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const WORKFLOWS = join('.github', 'workflows')
const EXAMPLES = join('examples', 'workflows')
const OWN_REFERENCE = /(\buses: )(?:\$\/|speedproof\/speedproof\/)([^\s@]+)(?:@\S+)?/g
/** GitHub's own schema checks it, in the tests. */
const QUEUE_OF_CONCURRENCY = /^ +queue: max\b.*\n/gm

/** What git tracks or would track, as it is in the working tree. */
export function makePlainCopy(root: string, target: string): void {
  const listing = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const files = execFileSync('git', listing, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)
  for (const file of files) {
    mkdirSync(dirname(join(target, file)), { recursive: true })
    cpSync(join(root, file), join(target, file))
  }
  for (const name of readdirSync(join(target, EXAMPLES))) {
    cpSync(join(target, EXAMPLES, name), join(target, WORKFLOWS, `example-${name}`))
  }
  for (const name of readdirSync(join(target, WORKFLOWS))) {
    const path = join(target, WORKFLOWS, name)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replaceAll(OWN_REFERENCE, '$1./$2').replaceAll(QUEUE_OF_CONCURRENCY, ''))
  }
  // Both programs find a project by its git folder, and act reads branch and commit from it.
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: target })
  execFileSync('git', ['add', '--all'], { cwd: target })
  execFileSync('git', [...identity, 'commit', '--quiet', '--message=copy'], { cwd: target })
}
