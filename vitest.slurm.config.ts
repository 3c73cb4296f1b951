import { defineConfig } from 'vitest/config'

// On a real Slurm, which `tests/slurm/cluster.ts` installs and starts: apart from `npm test`, which does without.
export default defineConfig({
  test: {
    include: ['tests/slurm/*.test.ts'],
    globalSetup: ['tests/slurm/cluster.ts'],
    setupFiles: ['tests/harness/json-modules.ts', 'tests/harness/remove-folders.ts'],
    // A machine that is at work with something else takes several times as long as an idle one.
    testTimeout: 900_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // They wait more than they compute.
    maxWorkers: 4,
    maxConcurrency: 6,
  },
})
