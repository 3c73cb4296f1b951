import { defineConfig } from 'vitest/config'

// The tests of the benchmark scripts and of the records: apart from `npm test`, since no product code depends on them.
export default defineConfig({
  test: {
    include: ['benchmarks/tests/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
    setupFiles: ['tests/harness/json-modules.ts', 'tests/harness/remove-folders.ts'],
  },
})
