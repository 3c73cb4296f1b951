// What the cloud commands have in common: which server, which machine, which workflow run.
import type { Command } from 'commander'
import { machineName } from '../../cloud/names.ts'
import type { Wish } from '../../cloud/request.ts'
import { positiveDecimal } from '../../config/overrides/overrides.ts'
import { ConfigError } from '../../errors.ts'
import { Dstack } from '../../io/cloud/dstack.ts'
import { readRunFacts } from '../../io/github/event/event.ts'

export interface WishFlags {
  readonly gpu: string
  readonly maxPrice: string
  readonly maxMinutes: string
  readonly backends: string
  readonly regions: string
  readonly image: string
  readonly disk: string
  readonly fleet: string
  readonly communityCloud?: boolean
}

export function withWish(command: Command): Command {
  return command
    .requiredOption('--gpu <name>', 'GPU as dstack writes it, such as H100 or H100:2')
    .requiredOption('--max-price <dollars>', 'most that the machine may cost for an hour')
    .option('--max-minutes <minutes>', 'most that the machine may run for', '120')
    .option('--backends <names>', 'providers, such as vastai,vultr (default: all of the server)', '')
    .option('--regions <names>', "the providers' regions (default: all)", '')
    .option('--image <name>', "container image (default: dstack's own)", '')
    .option('--disk <gb>', 'least disk in GB', '100')
    .option('--fleet <name>', "the server's fleet for these machines", 'speedproof')
    .option('--community-cloud', 'allow machines of private persons')
}

export function wishOf(flags: WishFlags): Wish {
  return {
    gpu: gpuOf(flags.gpu),
    maxPricePerHour: positiveDecimal('max-price', flags.maxPrice),
    maxMinutes: positiveDecimal('max-minutes', flags.maxMinutes),
    backends: listOf(flags.backends),
    regions: listOf(flags.regions),
    image: flags.image.trim() || null,
    diskGb: positiveDecimal('disk', flags.disk),
    fleet: flags.fleet,
    communityCloud: flags.communityCloud === true,
  }
}

/** With a number of its own, a range would rent more than was meant. */
function gpuOf(text: string): string {
  if (/^[\w.-]+(:[1-9]\d?)?$/.test(text)) return text
  throw new ConfigError(`gpu: got ${JSON.stringify(text)}, expected a name such as H100, or H100:2 for two`)
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** Address and token come by the environment alone: a command line is there for all to read. */
export function openDstack(environment: NodeJS.ProcessEnv = process.env): Dstack {
  const url = needed(
    environment,
    'DSTACK_URL',
    "the address of your dstack server, such as 'https://dstack.example.com'",
  )
  const token = needed(environment, 'DSTACK_TOKEN', "a token of a member of the server's project")
  return new Dstack({
    url: safeUrl(url),
    token,
    project: environment.DSTACK_PROJECT || 'main',
    patience: null,
  })
}

/** The token goes with each call. */
function safeUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isLocal = url !== null && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url.href
  throw new ConfigError(
    'DSTACK_URL: expected an address that begins with https://, since the token goes with each call',
  )
}

export function needed(environment: NodeJS.ProcessEnv, name: string, meaning: string): string {
  const value = environment[name]?.trim() ?? ''
  if (value === '') throw new ConfigError(`${name}: missing in the environment; expected ${meaning}`)
  return value
}

/** Of the workflow run that this job is of. */
export function ownMachineName(leg: string): string {
  const { runId, runAttempt } = readRunFacts()
  if (runId === 0)
    throw new ConfigError(
      'GITHUB_RUN_ID: missing in the environment; this command is for a job of a GitHub workflow',
    )
  return machineName({ runId, attempt: runAttempt, leg })
}
