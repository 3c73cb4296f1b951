import { defineConfig } from 'vitest/config'

// Against the dstack server that `scripts/setup-dstack.mjs` installs: apart from `npm test`, since it takes a minute.
export default defineConfig({
  test: {
    include: ['tests/dstack/**/*.test.ts'],
    testTimeout: 400_000,
    hookTimeout: 120_000,
    // They wait for the server's own rhythm, not for the processor.
    maxConcurrency: 20,
    expect: { poll: { timeout: 60_000 } },
  },
})
