// The raw texts of the action's inputs -> what this job is to do and how to report it.
import { ConfigError } from '../../errors.ts'
import { OVERRIDE_NAMES, type Overrides, parseOverrides } from './overrides.ts'

export const INPUT_NAMES = [
  'job',
  'experiment',
  'working-directory',
  'out',
  'noise-floors',
  'report',
  'github-token',
  'artifact-name',
  'measure-job',
  'head-sha',
  'leg',
  ...OVERRIDE_NAMES,
] as const

interface CommonInputs {
  readonly workingDirectory: string
  readonly outDirectory: string
  readonly token: string
  /** Tells the legs of a matrix apart; '' without one. */
  readonly leg: string
  readonly overrides: Overrides
}

export interface MeasureInputs extends CommonInputs {
  readonly job: 'measure'
  /** One for each line; at least one. */
  readonly experimentFiles: readonly string[]
  readonly report: 'direct' | 'artifact'
  /** '' makes a name; null uploads nothing. */
  readonly artifactName: string | null
  /** Null takes the folder of the user. */
  readonly noiseFloorFolder: string | null
}

export interface ReportInputs extends CommonInputs {
  readonly job: 'report'
  readonly experimentFile: string
  /** '' is the name that measure makes. */
  readonly artifactName: string
  readonly measureJob: string
  /** Null where the event names the measured commit. */
  readonly headSha: string | null
}

export type ActionInputs = MeasureInputs | ReportInputs

type InputText = (name: (typeof INPUT_NAMES)[number]) => string

/** Throws a ConfigError that names the input, its value and the remedy. Defaults stand in action.yml alone. */
export function parseActionInputs(raw: Readonly<Record<string, string>>): ActionInputs {
  const text: InputText = (name) => raw[name]?.trim() ?? ''
  const experimentFiles = linesOf(
    required('experiment', text('experiment'), 'configs/experiments/smoke.yaml'),
  )
  const common = {
    workingDirectory: required('working-directory', text('working-directory'), '.'),
    outDirectory: required('out', text('out'), 'out'),
    token: text('github-token'),
    leg: text('leg'),
    overrides: parseOverrides(raw),
  }
  switch (oneOf('job', text('job'), ['measure', 'report'])) {
    case 'measure':
      return {
        ...common,
        job: 'measure',
        experimentFiles,
        report: oneOf('report', text('report'), ['direct', 'artifact']),
        artifactName: text('artifact-name') === 'none' ? null : text('artifact-name'),
        noiseFloorFolder: text('noise-floors') || null,
      }
    case 'report':
      return { ...common, job: 'report', experimentFile: onlyOne(experimentFiles), ...reportInputs(text) }
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** The artifact that is judged again is the one of one experiment. */
function onlyOne([first = '', ...others]: readonly string[]): string {
  if (others.length === 0) return first
  throw new ConfigError(
    `experiment: got ${others.length + 1} lines, expected one: a report job judges one experiment. Measure each in its own job, or with report: direct`,
  )
}

function reportInputs(text: InputText): Pick<ReportInputs, 'artifactName' | 'measureJob' | 'headSha'> {
  if (text('artifact-name') === 'none') {
    throw new ConfigError(
      'artifact-name: got "none", but job report reads an artifact. Name it, or leave the input out',
    )
  }
  if (text('github-token') === '') {
    throw new ConfigError(
      'github-token: missing; job report needs it to read the artifact and the base branch. Leave the input out to use the default token',
    )
  }
  return {
    artifactName: text('artifact-name'),
    measureJob: required('measure-job', text('measure-job'), 'measure'),
    headSha: text('head-sha') === '' ? null : commit('head-sha', text('head-sha')),
  }
}

function required(name: string, text: string, example: string): string {
  if (text === '') throw new ConfigError(`${name}: missing; expected a value such as ${example}`)
  return text
}

function oneOf<const Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw new ConfigError(`${name}: got ${JSON.stringify(text)}, expected ${words.join(' or ')}`)
}

function commit(name: string, text: string): string {
  if (/^[0-9a-f]{40}$/.test(text)) return text
  throw new ConfigError(
    `${name}: got ${JSON.stringify(text)}, expected the 40 hexadecimal digits of a commit`,
  )
}
