// Printing to somebody who may be gone, and the end of this process behind all that it has printed.

/** A pipe without a reader, and a terminal that was closed. */
const GONE = ['EPIPE', 'EIO']

/** What is printed is in the output folder too: a measurement does not end with whoever watched it. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!GONE.includes(error.code ?? '')) throw error
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
  process.exit()
}
