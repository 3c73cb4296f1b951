// Printing to somebody who may be gone, and the end of this process behind all that it has printed.

/** A pipe without a reader, and a terminal that was closed. */
const GONE = ['EPIPE', 'EIO']

/** In place of 0, where standard output took nothing: sysexits.h has it as EX_IOERR. */
const EXIT_UNPRINTED = 74

let isUnprinted = false

/** What is printed is in the output folder too: a closed terminal or a full disk does not end a measurement. */
export function outliveReaders(): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isUnprinted || GONE.includes(error.code ?? '')) return
    isUnprinted = true
    console.error(`standard output: cannot be written (${error.message}); make room, or name another file`)
  })
}

/** process.exit() alone cuts off what a pipe has no room for, without a word. */
export async function exitPrinted(): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((done) => {
      stream.once('error', () => done())
      stream.write('', () => done())
    })
  }
  if (isUnprinted) process.exitCode ||= EXIT_UNPRINTED
  process.exit()
}
