// Reads the summaries that traced launches left, with bounded memory.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Experiment, VARIANTS, type Variant } from '../../config/experiment.ts'
import { messageOf } from '../../errors.ts'
import {
  MAX_PROFILE_BYTES,
  PROFILE_FILE,
  type Profile,
  type Profiles,
  parseProfile,
  unprofiled,
} from '../../measure/profile/profile.ts'
import { tracedRun } from '../../plan/plan.ts'
import type { Workspace } from '../folder/workspace.ts'
import { readText } from '../system/read-text.ts'

/** Null where none were asked for, or not both launches were begun, as in a measurement that was broken off. */
export async function readProfiles({ profile, design }: Experiment, workspace: Workspace): Promise<Profiles> {
  const folderOf = (variant: Variant) => workspace.runFiles(tracedRun(variant, design.seed)).profileDirectory
  if (!profile || !VARIANTS.every((variant) => existsSync(folderOf(variant)))) return null
  return {
    baseline: await readProfile(folderOf('baseline')),
    optimized: await readProfile(folderOf('optimized')),
  }
}

/** `folder`: of the traces. What cannot be read is a reason in the report, and no more. */
export async function readProfile(folder: string): Promise<Profile> {
  try {
    return parseProfile(await readText(join(folder, PROFILE_FILE), PROFILE_FILE, MAX_PROFILE_BYTES))
  } catch (error) {
    return unprofiled(messageOf(error))
  }
}
