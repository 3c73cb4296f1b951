// The commands that repeat an experiment on a workstation, and its verdict without any GPU.
import type { Result } from './result.ts'

export function reproduceCommand({
  experimentFile,
  revision,
}: Pick<Result, 'experimentFile' | 'revision'>): string {
  return [
    ...(revision === null ? [] : [`git checkout ${quote(revision)}`]),
    `npx speedproof run ${quote(experimentFile)}`,
    'npx speedproof analyze out/result.json   # the verdict again, from the recorded metrics',
  ].join('\n')
}

function quote(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
