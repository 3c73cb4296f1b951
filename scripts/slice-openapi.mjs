// Cuts the operations that Speedproof calls out of GitHub's own OpenAPI description, for the fake in tests/harness.
//
// The package that holds the description is 385 MB, so it is no dependency. To renew the slice, run from the root:
//   FOLDER=$(mktemp -d) && npm install --prefix "$FOLDER" @octokit/openapi@23.0.2
//   node scripts/slice-openapi.mjs "$FOLDER"/node_modules/@octokit/openapi/generated/api.github.com.json
import { readFileSync, writeFileSync } from 'node:fs'

const OPERATIONS = [
  ['/repos/{owner}/{repo}/issues/{issue_number}/comments', 'get'],
  ['/repos/{owner}/{repo}/issues/{issue_number}/comments', 'post'],
  ['/repos/{owner}/{repo}/issues/comments/{comment_id}', 'patch'],
  ['/repos/{owner}/{repo}/issues/comments/{comment_id}', 'delete'],
  ['/repos/{owner}/{repo}/pulls', 'get'],
  ['/repos/{owner}/{repo}/pulls/{pull_number}', 'get'],
  ['/repos/{owner}/{repo}/branches/{branch}', 'get'],
  ['/repos/{owner}/{repo}/contents/{path}', 'get'],
  ['/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts', 'get'],
  ['/repos/{owner}/{repo}/actions/runs/{run_id}/jobs', 'get'],
  ['/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}', 'get'],
  ['/repos/{owner}/{repo}/check-runs', 'post'],
  ['/repos/{owner}/{repo}/check-runs/{check_run_id}', 'patch'],
  ['/repos/{owner}/{repo}/commits/{ref}/check-runs', 'get'],
  ['/repos/{owner}/{repo}/collaborators/{username}/permission', 'get'],
]
const TARGET = 'tests/fixtures/github-openapi.json'
const PROSE = new Set(['description', 'summary', 'example', 'examples', 'tags', 'externalDocs'])

const [source] = process.argv.slice(2)
if (!source) throw new Error('usage: node scripts/slice-openapi.mjs PATH/api.github.com.json')
const description = JSON.parse(readFileSync(source, 'utf8'))

const { title, version, license } = description.info
const slice = { openapi: description.openapi, info: { title, version, license }, paths: {}, components: {} }
for (const [path, method] of OPERATIONS) {
  slice.paths[path] = { ...slice.paths[path], [method]: keep(description.paths[path][method]) }
}
// Every error that an operation does not list has this body.
keep({ $ref: '#/components/schemas/basic-error' })
writeFileSync(TARGET, `${JSON.stringify(slice, null, 1)}\n`)

/** The value without prose; whatever it refers to is put into the slice. */
function keep(value, insideProperties = false) {
  if (Array.isArray(value)) return value.map((item) => keep(item))
  if (value === null || typeof value !== 'object') return value
  if (typeof value.$ref === 'string') keepComponent(value.$ref)
  const kept = Object.entries(value)
    // Below `properties`, a key is a field of GitHub's (a comment may have a `description`), not a keyword.
    .filter(([key]) => insideProperties || !(PROSE.has(key) || key.startsWith('x-')))
    .map(([key, item]) => [key, keep(item, !insideProperties && key === 'properties')])
  return withNullAsType(Object.fromEntries(kept), insideProperties)
}

function keepComponent(reference) {
  const [, , kind, name] = reference.split('/')
  slice.components[kind] ??= {}
  if (name in slice.components[kind]) return
  slice.components[kind][name] = {} // Set before the descent: components may refer to themselves.
  slice.components[kind][name] = keep(description.components[kind][name])
}

/** OpenAPI 3.0 says `nullable`, JSON Schema says `null` among the types. */
function withNullAsType(schema, insideProperties) {
  if (insideProperties || schema.nullable === undefined) return schema
  const { nullable, ...rest } = schema
  return nullable ? { anyOf: [rest, { type: 'null' }] } : rest
}
