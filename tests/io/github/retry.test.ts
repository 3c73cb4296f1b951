// When a call is repeated, and when it is not.
import { describe, expect, it } from 'vitest'
import { adviseOnGitHubError, explainGitHubError } from '../../../src/io/github/api-error.ts'
import { type RetryAdvice, withRetry } from '../../../src/io/github/retry.ts'

const PATIENCE = { attempts: 3, firstDelayMs: 1, totalMs: 1000 }

async function countCalls(advice: RetryAdvice): Promise<number> {
  let calls = 0
  const failing = async () => {
    calls++
    throw new Error(`call ${calls} failed`)
  }
  const lastError = await withRetry(failing, () => advice, PATIENCE).catch(String)
  expect(lastError).toBe(`Error: call ${calls} failed`)
  return calls
}

describe('a failed call', () => {
  it('is repeated until the attempts are used up', async () => {
    expect(await countCalls({ kind: 'passing', afterMs: null })).toBe(3)
  })

  it('is not repeated when its reason stays', async () => {
    expect(await countCalls({ kind: 'final' })).toBe(1)
  })

  it('is not repeated when the server asks for more time than there is', async () => {
    expect(await countCalls({ kind: 'passing', afterMs: 60_000 })).toBe(1)
  })

  it('is ended by its signal when it hangs', async () => {
    const hang = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const patience = { ...PATIENCE, totalMs: 20 }
    await expect(withRetry(hang, () => ({ kind: 'final' }), patience)).rejects.toThrow('timeout')
  })
})

describe("GitHub's error", () => {
  const error = (status: number, headers: Record<string, string> = {}) => ({
    status,
    message: 'text',
    response: { headers },
  })

  it.each([
    ['500', error(500), { kind: 'passing', afterMs: null }],
    ['403 without write permission', error(403), { kind: 'final' }],
    ['403 with retry-after', error(403, { 'retry-after': '2' }), { kind: 'passing', afterMs: 2000 }],
    ['429', error(429), { kind: 'passing', afterMs: null }],
    ['422', error(422), { kind: 'final' }],
    ['not of GitHub', new TypeError('x'), { kind: 'final' }],
  ])('%s', (_, value, advice) => {
    expect(adviseOnGitHubError(value)).toEqual(advice)
  })

  it('asks to wait until the reset of an exhausted primary limit', () => {
    const inOneHour = String(Math.floor(Date.now() / 1000) + 3600)
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inOneHour }
    const advice = adviseOnGitHubError(error(403, headers))
    expect(advice.kind === 'passing' && advice.afterMs).toBeGreaterThan(3_000_000)
  })
})

describe('a refusal with status 403', () => {
  const explained = (message: string) =>
    explainGitHubError({ status: 403, message, response: { headers: {} } })

  it.each([
    'Resource not accessible by integration',
    'Resource not accessible by personal access token',
    'Must have admin rights to Repository.',
  ])('for want of a permission names it: %s', (message) => {
    expect(explained(message)).toMatch(/pull-requests: write, checks: write/)
  })

  it.each([
    'Unable to create comment because issue is locked.',
    'Although you appear to have the correct authorization credentials, the `octo` organization has an IP allow list enabled, and 192.0.2.1 is not permitted to access this resource.',
    'Repository was archived so is read-only.',
    'Sorry. Your account was suspended.',
    'Resource protected by organization SAML enforcement.',
  ])("for a reason of GitHub's own shows it, and no permission: %s", (message) => {
    expect(explained(message)).toContain(message)
    expect(explained(message)).not.toMatch(/checks: write|lacks a permission/)
  })
})
