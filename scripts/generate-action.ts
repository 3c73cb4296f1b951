// Writes the action once more below .github/, for our own reusable workflows: they refer to the commit they run at
// with `uses: $/path`, which GitHub does not allow for the action in a repository's root.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const TARGET = '.github/actions/speedproof/action.yml'
const HEAD = '# Generated from action.yml by `npm run generate`; change it there.\n'

const action = readFileSync('action.yml', 'utf8')
mkdirSync(dirname(TARGET), { recursive: true })
// The runner takes `main` and `post` relative to the file that names them.
writeFileSync(TARGET, HEAD + action.replaceAll(/^( {2}(?:main|post): )(?=dist\/)/gm, '$1../../../'))
