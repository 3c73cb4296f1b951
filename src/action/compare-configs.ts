// Compares the configs that were measured with those of the base branch: a pull request may make only its baseline slower.
import { createHash } from 'node:crypto'
import { type Experiment, VARIANTS, type Variant } from '../config/experiment.ts'
import { formatOf, parseConfig, withSettings } from '../config/formats/formats.ts'
import type { ReportInputs } from '../config/overrides/action-inputs.ts'
import { differencesOf } from '../config/same-work/differences.ts'
import { OPAQUE_FILE } from '../config/same-work/opaque-file.ts'
import type { ResolvedConfigs, TrainerConfig } from '../config/same-work/same-work.ts'
import { messageOf } from '../errors.ts'
import { explainGitHubError } from '../io/github/api-error.ts'
import { callGitHub, type GitHub, type Repository } from '../io/github/client.ts'
import { pathInRepository, readFileAt } from '../io/github/event/base-file.ts'
import type { ChangedConfig } from '../report/github/changed-configs.ts'

/** By the experiment of the base branch. Never throws: what cannot be compared is said. */
export async function compareConfigs(
  inputs: ReportInputs,
  repository: Repository,
  commit: string,
  experiment: Experiment,
  measured: ResolvedConfigs,
): Promise<ChangedConfig[]> {
  const compare = (variant: Variant) =>
    callGitHub(inputs.token, (github) =>
      compareConfig(github, repository, commit, inputs, experiment, variant, measured),
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
  commit: string,
  { workingDirectory }: ReportInputs,
  experiment: Experiment,
  variant: Variant,
  measured: ResolvedConfigs,
): Promise<ChangedConfig> {
  const unknown = (reason: string): ChangedConfig => ({ variant, status: 'unknown', reason })
  const { config, set, revision } = experiment.variants[variant]
  if (revision !== undefined) return unknown(`its config is the one of ${revision}`)
  let ofBase: TrainerConfig = {}
  if (config !== undefined) {
    const bytes = await readFileAt(github, repository, commit, pathInRepository(workingDirectory, config))
    if (bytes === 'absent') return unknown(`${config} is not there`)
    if (bytes === 'no file') return unknown(`${config} is not a text file`)
    try {
      ofBase = settingsIn(config, bytes)
    } catch (error) {
      return unknown(messageOf(error))
    }
  }
  const wanted = withSettings(ofBase, set, `variants.${variant}.set`)
  // A trainer that resolves its config adds its defaults, which the file does not have.
  const compared = experiment.trainer.validate_command === undefined ? 'in either' : 'in both'
  return { variant, status: 'compared', changes: differencesOf(wanted, measured[variant], [], compared) }
}

function settingsIn(config: string, bytes: Buffer): TrainerConfig {
  const format = formatOf(config)
  return format === null
    ? { [OPAQUE_FILE]: createHash('sha256').update(bytes).digest('hex') }
    : parseConfig(format, bytes.toString('utf8'), config)
}
