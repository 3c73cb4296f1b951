// The end of this process, behind all that it has printed.

/** process.exit() alone cuts off what a pipe has no room for, without a word. */
export async function exitPrinted(): Promise<never> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((done) => {
      stream.once('error', () => done()) // whoever read it is gone
      stream.write('', () => done())
    })
  }
  process.exit()
}
