// The action's entry; post.ts starts it with a word, since a cancel may end main before it saves any state.
import { isMainThread } from 'node:worker_threads'
import { setFailed } from '@actions/core'
import { answerApart } from './action/judge-apart.ts'
import { runAction } from './action/main.ts'
import { runPost } from './action/post.ts'
import { CancelledError, ConfigError, RunError } from './errors.ts'
import { exitPrinted } from './io/system/exit-printed.ts'

if (isMainThread) await runStep()
else await answerApart()

async function runStep(): Promise<void> {
  try {
    if (process.argv[2] === 'post') await runPost()
    else if (!(await runAction())) process.exitCode = 1
  } catch (error) {
    setFailed(explain(error))
  }
  // An upload that timed out may keep the process alive for ever.
  await exitPrinted()
}

function explain(error: unknown): string {
  if (error instanceof CancelledError || error instanceof ConfigError || error instanceof RunError) {
    return error.message
  }
  return `Speedproof has a bug: ${error instanceof Error ? error.stack : String(error)}`
}
