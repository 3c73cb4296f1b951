// Copies the repository to a folder in which a `uses:` of its own is a plain path, for programs that do not know
// GitHub's `$/` yet, and the examples stand among the workflows, as whoever copies them has them.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const WORKFLOWS = join('.github', 'workflows')
const EXAMPLES = join('examples', 'workflows')
const OWN_REFERENCE = /(\buses: )(?:\$\/|speedproof\/speedproof\/)([^\s@]+)(?:@\S+)?/g

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
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(OWN_REFERENCE, '$1./$2'))
  }
  // Both programs find a project by its git folder, and act reads branch and commit from it.
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: target })
  execFileSync('git', ['add', '--all'], { cwd: target })
  execFileSync('git', [...identity, 'commit', '--quiet', '--message=copy'], { cwd: target })
}
