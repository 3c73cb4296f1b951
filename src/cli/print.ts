// What commands print besides their reports.
import { plainText } from '../io/system/sanitize.ts'
import { callAgain } from './options.ts'

/** As plain text: it may name a ref of somebody else's making. */
export function printNote(message: string): void {
  console.log(plainText(message))
}

export function printResume(): void {
  console.log(`To go on: ${callAgain(process.argv.slice(2), 'resume')}`)
}

export function printRestart(): void {
  console.error(`To start without --resume: ${callAgain(process.argv.slice(2), 'restart')}`)
}
