// Prints what CHANGELOG.md says of the version whose tag is given, and refuses a tag that is not both packages' version.
import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import { z } from 'zod'

const [tag = ''] = process.argv.slice(2)
const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync('package.json', 'utf8')))
if (tag !== `v${version}`)
  throw new Error(`tag: got ${JSON.stringify(tag)}, expected v${version}, as package.json says`)

const python = z
  .object({ project: z.object({ version: z.string() }) })
  .parse(parse(readFileSync('python/pyproject.toml', 'utf8')))
if (python.project.version !== version)
  throw new Error(
    `python/pyproject.toml: got version ${JSON.stringify(python.project.version)}, expected ${version}, as package.json says`,
  )

const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
const [head = '', ...lines] = sections.find((section) => section.startsWith(`${version} `))?.split('\n') ?? []
const notes = lines.join('\n').trim()
if (notes === '') throw new Error(`CHANGELOG.md: no section "## ${version} - DATE" with notes in it`)
if (!/ - \d{4}-\d{2}-\d{2}$/.test(head))
  throw new Error(`CHANGELOG.md: "## ${head}" has no date; write the day of the release`)
console.log(notes)
