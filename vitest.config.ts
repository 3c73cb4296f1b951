import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/act/**'],
    testTimeout: 60_000,
    // Two cores is the smallest machine we promise: more workers only slow real child processes down.
    maxWorkers: 2,
    setupFiles: ['tests/harness/json-modules.ts'],
  },
})
