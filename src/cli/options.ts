// What the commands have in common: their options, and what these say.
import { existsSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { OVERRIDE_NAMES, type OverrideName, parseOverrides } from '../config/overrides/overrides.ts'
import { ConfigError } from '../errors.ts'
import { noiseFloorFolder } from '../io/load/noise-floors.ts'
import { shellQuote } from '../text/shell-quote.ts'

export const DEFAULT_EXPERIMENT = 'configs/experiments/smoke.yaml'

const OVERRIDE_HELP: Readonly<Record<OverrideName, string>> = {
  mode: 'compare; or aa, which compares the baseline with itself and stores the noise floor',
  preset: 'blocks and gates where the file has none: smoke, pull-request, nightly or release',
  python: 'interpreter with torch',
  base: 'branch, tag or commit to find the merge base with, such as origin/main',
  blocks: 'number of blocks (each one run of both variants), or looks such as 4,6,8',
  seed: 'block k trains with this seed + k',
  'nproc-per-node': 'processes on this machine, one per GPU',
  'timeout-minutes': 'limit for one run',
  'price-per-gpu-hour': 'price of one GPU for an hour, for costs',
  'min-speedup':
    'required speedup, such as 3.0; its lower bound must reach it, unless the gate has evidence: point',
  profile: 'trace a few steps of both variants at the end, and say what changed inside the step',
  'max-loss-delta': 'limit for the rise in held-out loss, such as 0.001; its upper bound must stay below',
}

export interface Flags {
  readonly out: string
  readonly noiseFloors?: string
  readonly gates?: string
  readonly resume?: boolean
}

export function withOverrides(command: Command, names: readonly OverrideName[]): Command {
  const wordOf = (name: OverrideName) => (name === 'profile' ? `--${name}` : `--${name} <value>`)
  return names.reduce((extended, name) => extended.option(wordOf(name), OVERRIDE_HELP[name]), command)
}

/** One text for each time that the option is given. */
export function collect(text: string, earlier: readonly string[]): string[] {
  return [...earlier, text]
}

/** Only our own repository is sure to have the one that is taken where none is named. */
export function orDefaultExperiment(experiments: readonly string[]): readonly string[] {
  if (experiments.length > 0) return experiments
  if (existsSync(DEFAULT_EXPERIMENT)) return [DEFAULT_EXPERIMENT]
  throw new ConfigError(
    `experiment: missing, and ${process.cwd()} has no ${DEFAULT_EXPERIMENT}. Name an experiment file`,
  )
}

export function inputsOf(experiments: readonly string[], flags: Flags) {
  return {
    experimentFiles: experiments.map(relativeToHere),
    workingDirectory: process.cwd(),
    overrides: overridesOf(flags),
    noiseFloorFolder: flags.noiseFloors ? resolve(flags.noiseFloors) : noiseFloorFolder(process.env),
  }
}

/** Reports name the file as it would be typed here. */
export function relativeToHere(path: string): string {
  return isAbsolute(path) ? relative(process.cwd(), path) : path
}

/** This call again: to resume it, or to restart it with nothing, where --retry has no place. */
export function callAgain(words: readonly string[], how: 'resume' | 'restart'): string {
  const dashes = words.indexOf('--') // behind them all are files
  const isOption = (index: number) => dashes < 0 || index < dashes
  const left = how === 'restart' ? ['--resume', '--retry'] : ['--resume']
  const [command = '', ...rest] = words.filter((word, index) => !(isOption(index) && left.includes(word)))
  const again = how === 'restart' ? [command, ...rest] : [command, '--resume', ...rest]
  return ['speedproof', ...again].map(shellQuote).join(' ')
}

/** commander gives --min-speedup as minSpeedup. */
export function overridesOf(flags: Flags) {
  const camel = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  return parseOverrides(
    Object.fromEntries(OVERRIDE_NAMES.map((name) => [name, String(Reflect.get(flags, camel(name)) ?? '')])),
  )
}
