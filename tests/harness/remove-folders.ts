// Removes what `aFolder` has made for a test file, also where several files share its module.
import { afterAll } from 'vitest'
import { removeFolders } from '../fixtures/processes/launching.ts'

// Not onTestFinished: it takes one concurrent test for another.
afterAll(removeFolders)
