// What a launch hands to its trainer: its settings, and the config file and flags that carry them.
import type { Variant } from '../experiment.ts'
import type { TrainerConfig } from '../same-work/same-work.ts'

export interface TrainerInput {
  /** Keys and values, however they are handed over: by these the variants are compared. */
  readonly settings: TrainerConfig
  /** Null for a trainer that reads no config file. */
  readonly file: ConfigFile | null
  /** By trainer.arguments. */
  readonly flags: readonly string[]
}

export interface ConfigFile {
  /** In the folder of the run, with the extension of the file that it was made from. */
  readonly name: string
  readonly content: string | Uint8Array
}

/** Warm-up launches may have other settings. */
export type LaunchInputs = Readonly<Record<'warm-up' | 'measured', Readonly<Record<Variant, TrainerInput>>>>
