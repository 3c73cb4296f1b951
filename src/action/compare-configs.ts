// Compares the configs that were measured with those of the base branch: a pull request may make only its baseline slower.
import { createHash } from 'node:crypto'
import { type Experiment, VARIANTS, type Variant } from '../config/experiment.ts'
import { formatOf, parseConfig, withSettings } from '../config/formats/formats.ts'
import type { ReportInputs } from '../config/overrides/action-inputs.ts'
import { type Difference, differencesOf } from '../config/same-work/differences.ts'
import { OPAQUE_FILE } from '../config/same-work/opaque-file.ts'
import type { ResolvedConfigs, TrainerConfig } from '../config/same-work/same-work.ts'
import { messageOf } from '../errors.ts'
import { explainGitHubError } from '../io/github/api-error.ts'
import { callGitHub, type GitHub, type Repository } from '../io/github/client.ts'
import { pathInRepository, readFileAt } from '../io/github/event/base-file.ts'
import type { ChangedConfig, ComparedExtent } from '../report/github/changed-configs.ts'

interface Commits {
  readonly base: string
  readonly head: string
}

/** By the experiment of the base branch. Never throws: what cannot be compared is said. */
export async function compareConfigs(
  inputs: ReportInputs,
  repository: Repository,
  commits: Commits,
  experiment: Experiment,
  measured: ResolvedConfigs,
): Promise<ChangedConfig[]> {
  const compare = (variant: Variant) =>
    callGitHub(inputs.token, (github) =>
      compareConfig(github, repository, commits, inputs, experiment, variant, measured),
    )
  return await Promise.all(
    VARIANTS.map(async (variant) => {
      try {
        return await compare(variant)
      } catch (error) {
        return { variant, status: 'unknown' as const, reason: explainGitHubError(error) }
      }
    }),
  )
}

async function compareConfig(
  github: GitHub,
  repository: Repository,
  commits: Commits,
  { workingDirectory }: ReportInputs,
  experiment: Experiment,
  variant: Variant,
  measured: ResolvedConfigs,
): Promise<ChangedConfig> {
  const unknown = (reason: string): ChangedConfig => ({ variant, status: 'unknown', reason })
  const { config, set, revision } = experiment.variants[variant]
  if (revision !== undefined) return unknown(`its config is the one of ${revision}`)
  const settingsAt = async (commit: string): Promise<TrainerConfig | string> => {
    const settings =
      config === undefined
        ? {}
        : await readSettings(github, repository, commit, config, pathInRepository(workingDirectory, config))
    return typeof settings === 'string' ? settings : withSettings(settings, set, `variants.${variant}.set`)
  }
  const ofBase = await settingsAt(commits.base)
  if (typeof ofBase === 'string') return unknown(ofBase)
  const compared = (changes: readonly Difference[], extent: ComparedExtent): ChangedConfig => ({
    variant,
    status: 'compared',
    changes,
    extent,
  })
  if (experiment.trainer.validate_command === undefined)
    return compared(differencesOf(ofBase, measured[variant], []), { of: 'everything' })
  // A trainer that resolves its config adds its defaults, which the file does not have: so what a pull request adds is
  // seen only in its own file.
  const inMeasured = differencesOf(ofBase, measured[variant], [], 'in both')
  const ofHead = await settingsAt(commits.head)
  if (typeof ofHead === 'string')
    return compared(inMeasured, { of: 'common keys', reason: `at the head, ${ofHead}` })
  const inFile = differencesOf(ofBase, ofHead, []).filter(({ key }) =>
    inMeasured.every((change) => change.key !== key),
  )
  return compared([...inMeasured, ...inFile], { of: 'the file, and what it names' })
}

/** Text: why the settings cannot be read. */
async function readSettings(
  github: GitHub,
  repository: Repository,
  commit: string,
  config: string,
  path: string,
): Promise<TrainerConfig | string> {
  const bytes = await readFileAt(github, repository, commit, path)
  if (bytes === 'absent') return `${config} is not there`
  if (bytes === 'no file') return `${config} is not a text file`
  try {
    return settingsIn(config, bytes)
  } catch (error) {
    return messageOf(error)
  }
}

function settingsIn(config: string, bytes: Buffer): TrainerConfig {
  const format = formatOf(config)
  return format === null
    ? { [OPAQUE_FILE]: createHash('sha256').update(bytes).digest('hex') }
    : parseConfig(format, bytes.toString('utf8'), config)
}
