// Reads from action.yml what the runner takes from it.
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { z } from 'zod'

const actionFile = z.object({
  inputs: z.record(z.string(), z.object({ default: z.coerce.string().optional() }).nullable()).default({}),
})

/** An input without a default and without a value is set as well, to ''. */
export async function readDeclaredDefaults(path: string | undefined): Promise<Record<string, string>> {
  if (path === undefined) return {}
  const { inputs } = actionFile.parse(parse(await readFile(path, 'utf8')))
  return Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input?.default ?? '']))
}
