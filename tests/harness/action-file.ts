// Reads from action.yml what the runner takes from it.
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { z } from 'zod'

const actionFile = z.object({
  inputs: z.record(z.string(), z.object({ default: z.coerce.string().optional() }).nullable()).default({}),
})

/** The token that the runner gives to a job; the fake GitHub knows it by this text. */
const JOB_TOKEN = 'job-token'

/** An input without a default and without a value is set as well, to ''. */
export async function readDeclaredDefaults(path: string | undefined): Promise<Record<string, string>> {
  if (path === undefined) return {}
  const { inputs } = actionFile.parse(parse(await readFile(path, 'utf8')))
  return Object.fromEntries(
    Object.entries(inputs).map(([name, input]) => [name, evaluate(input?.default ?? '')]),
  )
}

/** The one expression that action.yml needs. */
function evaluate(text: string): string {
  const value = text.replaceAll(/\$\{\{ *github\.token *\}\}/g, JOB_TOKEN)
  if (value.includes('${{')) throw new Error(`action.yml: the harness cannot evaluate ${text}`)
  return value
}
