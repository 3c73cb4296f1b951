import { defineConfig } from 'vitest/config'

// The workflow files in act, which needs Go to be installed: apart from `npm test`, which does without.
export default defineConfig({
  test: {
    include: ['tests/act/**/*.test.ts'],
    globalSetup: ['tests/act/install.ts'],
    testTimeout: 600_000,
    maxWorkers: 1,
  },
})
