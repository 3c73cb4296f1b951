// What commands print besides their reports.
import { plainText } from '../io/system/sanitize.ts'
import { callAgain } from './options.ts'

/** As plain text: it may quote a ref, whose name can hold control characters. */
export function printNote(message: string): void {
  console.log(plainText(message))
}

export function printResume(): void {
  console.log(`To continue: ${callAgain(process.argv.slice(2), 'resume')}`)
}

export function printRestart(): void {
  console.error(`To start without --resume: ${callAgain(process.argv.slice(2), 'restart')}`)
}
