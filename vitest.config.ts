import { defineConfig } from 'vitest/config'

/** What starts processes and waits for them, which `npm run test:unit` leaves out; mocked modules need isolation too. */
const PROCESSES = [
  'tests/end-to-end/*.test.ts',
  'tests/fixtures/**/*.test.ts',
  'tests/harness/*.test.ts',
  'tests/config/shipped-ladders.test.ts',
  'tests/io/folder/lock-folders.test.ts',
  'tests/io/github/**/{artifact,comment,live-report,surfaces}.test.ts',
  'tests/io/{machine,revisions}/*.test.ts',
  'tests/io/engine/agent.test.ts',
  'tests/io/process/*.test.ts',
  'tests/io/process/log/error-files.test.ts',
  'tests/ladder/io/*.test.ts',
  'tests/workflows/{measured,release}.test.ts',
]

export default defineConfig({
  test: {
    setupFiles: ['tests/harness/json-modules.ts', 'tests/harness/remove-folders.ts'],
    // A machine that is at work with something else takes three times as long as an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['tests/**/*.test.ts'],
          exclude: [
            ...['tests/act/**', 'tests/browser/**', 'tests/dstack/**', 'tests/examples/**', 'tests/slurm/**'],
            ...PROCESSES,
          ],
          // They share nothing but the modules they import, which is half of their time.
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: PROCESSES,
          // They wait more than they compute.
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
    ],
  },
})
