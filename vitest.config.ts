import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/act/**'],
    // A machine that is at work with something else takes three times as long as an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    // Two cores is the smallest machine we promise: more workers only slow real child processes down.
    maxWorkers: 2,
    setupFiles: ['tests/harness/json-modules.ts'],
  },
})
