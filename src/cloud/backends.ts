// Whose machines the server may rent.
import { ConfigError } from '../errors.ts'
import type { Wish } from './request.ts'

export interface Backend {
  readonly name: string
  /** Null for a provider that has no such choice. */
  readonly communityCloud: boolean | null
}

/** Throws a ConfigError where the server has none, or would rent a private person's machine that nobody has asked for. */
export function refuseBackends(
  backends: readonly Backend[],
  wish: Pick<Wish, 'backends' | 'communityCloud'>,
): void {
  if (backends.length === 0)
    throw new ConfigError(
      'the dstack server has no back end. Write them into its config.yml, not over REST: a server that restarts without them forgets its machines',
    )
  const missing = wish.backends.filter((name) => !backends.some((one) => one.name === name))
  if (missing.length > 0)
    throw new ConfigError(
      `backends: got ${missing.join(', ')}, which the dstack server does not have. It has ${namesOf(backends)}`,
    )
  const used =
    wish.backends.length === 0 ? backends : backends.filter(({ name }) => wish.backends.includes(name))
  const open = used.filter(({ communityCloud }) => communityCloud === true)
  if (open.length > 0 && !wish.communityCloud)
    throw new ConfigError(
      `the dstack server may rent machines of private persons from ${namesOf(open)}. Set community_cloud: false for it in the server's config.yml, or name --community-cloud`,
    )
}

function namesOf(backends: readonly Backend[]): string {
  return backends.map(({ name }) => name).join(', ')
}
