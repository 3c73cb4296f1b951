import { defineConfig } from 'vitest/config'

// The HTML report in a browser, which `npm test` does without.
export default defineConfig({
  test: {
    include: ['tests/browser/**/*.test.ts'],
    setupFiles: ['tests/harness/json-modules.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
