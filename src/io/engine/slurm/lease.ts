// The file by which the nodes know that Speedproof lives, and which launch it wants to run.
import { writeFileSync } from 'node:fs'

const RENEW_MILLISECONDS = 5000
/** A marker has 47 characters. */
const ORDER_WIDTH = 50

export class Lease implements Disposable {
  readonly file: string
  #count = 0
  #order = '-'
  readonly #timer: NodeJS.Timeout

  constructor(file: string) {
    this.file = file
    this.#write('wx')
    this.#timer = setInterval(() => this.#renew(), RENEW_MILLISECONDS)
    this.#timer.unref()
  }

  /** The launch with this marker may run; every other one ends itself. */
  allow(marker: string): void {
    this.#tell(marker)
  }

  /** No launch may run. */
  stop(): void {
    this.#tell('-')
  }

  /** Nobody needs the allocation any more. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#tell(OVER)
  }

  #tell(order: string): void {
    this.#order = order
    this.#renew()
  }

  #renew(): void {
    try {
      // Neither cut nor replaced: a reader finds it whole, and a network file system keeps its place.
      this.#write('r+')
    } catch {
      // The nodes end what they run when it grows old.
    }
  }

  #write(flag: 'wx' | 'r+'): void {
    this.#count += 1
    writeFileSync(this.file, leaseText(this.#count, this.#order), { flag })
  }
}

const OVER = 'over'

/** By the post step, once the process that renewed it is gone: whatever still runs ends at once. */
export function endLease(file: string): void {
  writeFileSync(file, leaseText(0, OVER), { flag: 'r+' })
}

function leaseText(count: number, order: string): string {
  return `${String(count).padStart(10, '0')} ${order.padEnd(ORDER_WIDTH)}\n`
}
