// Packs a record's folder into one file, and unpacks it: tar and Zstandard. Equal folders give equal bytes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { ENDING, PACKED, UNPACKED } from './layout.ts'

const MOST_BYTES = 1024 ** 3 // of one record, unpacked
/** What tar would otherwise take from this machine: order, times, owners, and modes after its umask. */
const REPRODUCIBLE = [
  ...['--format=ustar', '--sort=name', '--mtime=@0', '--mode=u+rw,u+X,go-w,go+rX'],
  ...['--owner=0', '--group=0', '--numeric-owner'],
]
const COMPRESSION = {
  [constants.ZSTD_c_compressionLevel]: 19,
  [constants.ZSTD_c_windowLog]: 27, // the most that a reader takes unasked: runs of one record are much alike
  [constants.ZSTD_c_enableLongDistanceMatching]: 1,
}

/** Makes the record's file anew from its folder in out/records. */
export function pack(name: string, source = UNPACKED, target = PACKED): void {
  if (!statSync(join(source, name), { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${join(source, name)}: no such folder; put the record there, then pack it`)
  const archive = tar(['-c', ...REPRODUCIBLE, '-C', source, name])
  const file = join(target, `${name}${ENDING}`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, zstdCompressSync(archive, { params: COMPRESSION }))
}

/** Replaces the record's folder below `target`. */
export function unpack(name: string, target = UNPACKED, source = PACKED): void {
  const archive = zstdDecompressSync(readFileSync(join(source, `${name}${ENDING}`)), {
    maxOutputLength: MOST_BYTES,
  })
  rmSync(join(target, name), { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  tar(['-x', '-C', target], archive)
}

function tar(args: string[], input?: Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync('tar', args, { input, maxBuffer: MOST_BYTES })
  if (error) throw new Error(`tar: cannot be started (${error.message}); install GNU tar`)
  if (status !== 0) throw new Error(`tar: ${String(stderr).trim()}`)
  return stdout
}
