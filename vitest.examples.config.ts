import { defineConfig } from 'vitest/config'

// The examples with the real libraries, which `scripts/setup-examples.mjs` installs: apart from `npm test`, since they take minutes.
export default defineConfig({
  test: {
    include: ['tests/examples/**/*.test.ts'],
    testTimeout: 300_000,
    maxWorkers: 1,
  },
})
