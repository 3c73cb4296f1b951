// Checks calls and answers against GitHub's own OpenAPI description (tests/fixtures/github-openapi.json).
import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { z } from 'zod'
import type { Request } from './local-server.ts'

export interface Operation {
  id: string
  /** Path and query, by name. */
  parameters: Record<string, string>
  /** What is wrong with the call, in words; empty when nothing is. */
  problems: string[]
  problemsOfAnswer(status: number, body: unknown): string[]
}

const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query']),
  required: z.boolean().default(false),
  schema: z.looseObject({ type: z.string() }),
})
const reference = z.object({ $ref: z.string() })
const content = z.object({ 'application/json': z.object({ schema: z.looseObject({}) }) })
const operation = z.object({
  operationId: z.string(),
  parameters: z.array(z.union([reference, parameter])),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ $ref: z.string().optional(), content: content.optional() })),
})
const description = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    parameters: z.record(z.string(), parameter),
    responses: z.record(z.string(), z.object({ content: content.optional() })),
    schemas: z.record(z.string(), z.unknown()),
  }),
})

const DESCRIPTION_FILE = new URL('../fixtures/github-openapi.json', import.meta.url)
const github = description.parse(JSON.parse(readFileSync(DESCRIPTION_FILE, 'utf8')))
const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false })
addFormats.default(ajv)
// The numbers of OpenAPI that JSON Schema does not know; they say how wide, not what is allowed.
ajv.addFormat('int64', true)
ajv.addFormat('int32', true)
ajv.addSchema({ $id: 'github', components: github.components })

/** null: not among the operations that the project calls. */
export function findOperation(request: Request): Operation | null {
  for (const [template, methods] of Object.entries(github.paths)) {
    const inPath = matchPath(template, request.url.pathname)
    const found = methods[request.method.toLowerCase()]
    if (!inPath || !found) continue
    const parameters = { ...decoded(inPath), ...Object.fromEntries(request.url.searchParams) }
    return {
      id: found.operationId,
      parameters,
      problems: [...problemsOfParameters(found, parameters), ...problemsOfRequestBody(found, request.body)],
      problemsOfAnswer: (status, body) => problemsOfAnswer(found, status, body),
    }
  }
  return null
}

function matchPath(template: string, path: string): Record<string, string> | null {
  const pattern = template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  const match = new RegExp(`^${pattern}$`).exec(path)
  return match ? { ...match.groups } : null
}

function decoded(inPath: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(inPath).map(([name, text]) => [name, decodeURIComponent(text)]))
}

function problemsOfParameters(found: z.infer<typeof operation>, given: Record<string, string>): string[] {
  const known = found.parameters.map((one) =>
    '$ref' in one ? parameter.parse(github.components.parameters[lastPart(one.$ref)]) : one,
  )
  const unknown = Object.keys(given).filter((name) => !known.some((one) => one.name === name))
  const problems = known.flatMap(({ name, required, schema }) => {
    const text = given[name]
    if (text === undefined) return required ? [`parameter ${name} is missing`] : []
    return check(schema, schema.type === 'integer' ? Number(text) : text, `parameter ${name}`)
  })
  return [...unknown.map((name) => `parameter ${name} is unknown`), ...problems]
}

function problemsOfRequestBody(found: z.infer<typeof operation>, bytes: Buffer): string[] {
  if (!found.requestBody) return bytes.length === 0 ? [] : ['a request body where none belongs']
  const { schema } = found.requestBody.content['application/json']
  // The description lets unknown fields pass; ours would be a mistake.
  return check({ ...schema, additionalProperties: false }, JSON.parse(bytes.toString()), 'request body')
}

function problemsOfAnswer(found: z.infer<typeof operation>, status: number, body: unknown): string[] {
  const listed = found.responses[status]
  if (!listed) {
    const error = { $ref: '#/components/schemas/basic-error' }
    return status >= 400
      ? check(error, body, `answer ${status}`)
      : [`answer ${status} is not in the description`]
  }
  const resolved = listed.$ref ? github.components.responses[lastPart(listed.$ref)] : listed
  if (!resolved?.content) return body === undefined ? [] : [`answer ${status} has a body where none belongs`]
  return check(resolved.content['application/json'].schema, body, `answer ${status}`)
}

const compiled = new Map<string, ValidateFunction>()

function check(schema: object, value: unknown, what: string): string[] {
  // References are local to the description; here the schema stands alone.
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"github#/components/')
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
  compiled.set(text, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map((one) => `${what}${one.instancePath}: ${one.message}`)
}

function lastPart(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}
