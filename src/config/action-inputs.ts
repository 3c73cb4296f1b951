// The raw texts of the action's inputs -> a job and how to report it.
import { ConfigError } from '../errors.ts'
import { OVERRIDE_NAMES, type Overrides, parseOverrides } from './overrides.ts'

export const INPUT_NAMES = [
  'experiment',
  'working-directory',
  'out',
  'noise-floors',
  'report',
  'github-token',
  'artifact-name',
  'leg',
  ...OVERRIDE_NAMES,
] as const

export interface ActionInputs {
  readonly experimentFile: string
  readonly workingDirectory: string
  readonly outDirectory: string
  /** Null takes the folder of the user. */
  readonly noiseFloorFolder: string | null
  readonly report: 'direct' | 'artifact'
  readonly token: string
  /** '' makes a name; null uploads nothing. */
  readonly artifactName: string | null
  /** Tells the legs of a matrix apart; '' without one. */
  readonly leg: string
  readonly overrides: Overrides
}

/** Throws a ConfigError that names the input, its value and the remedy. Defaults stand in action.yml alone. */
export function parseActionInputs(raw: Readonly<Record<string, string>>): ActionInputs {
  const text = (name: (typeof INPUT_NAMES)[number]) => raw[name]?.trim() ?? ''
  return {
    experimentFile: required('experiment', text('experiment'), 'configs/experiments/smoke.yaml'),
    workingDirectory: required('working-directory', text('working-directory'), '.'),
    outDirectory: required('out', text('out'), 'out'),
    noiseFloorFolder: text('noise-floors') || null,
    report: reportOf(text('report')),
    token: text('github-token'),
    artifactName: text('artifact-name') === 'none' ? null : text('artifact-name'),
    leg: text('leg'),
    overrides: parseOverrides(raw),
  }
}

function required(name: string, text: string, example: string): string {
  if (text === '') throw new ConfigError(`${name}: missing; expected a path such as ${example}`)
  return text
}

function reportOf(text: string): ActionInputs['report'] {
  if (text === 'direct' || text === 'artifact') return text
  throw new ConfigError(`report: got ${JSON.stringify(text)}, expected direct or artifact`)
}
