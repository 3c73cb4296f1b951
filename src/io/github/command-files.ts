// The files by which a step talks to the runner. A training runs as the same user and could find them, so what they hold is known here.
import { randomUUID } from 'node:crypto'
import { lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

export type CommandFile = 'OUTPUT' | 'ENV' | 'PATH' | 'STATE' | 'STEP_SUMMARY'

const COMMAND_FILES: readonly CommandFile[] = ['OUTPUT', 'ENV', 'PATH', 'STATE', 'STEP_SUMMARY']

interface Watched {
  readonly path: string
  /** What it held at the start, and what this process has written since. */
  bytes: Buffer
  isTouched: boolean
}

const watched = new Map<CommandFile, Watched>()

/** Before anything runs that is not ours. */
export function watchCommandFiles(): void {
  for (const name of COMMAND_FILES) watch(name)
}

/** Null outside of a runner. */
function watch(name: CommandFile): Watched | null {
  const path = process.env[variableOf(name)]
  if (!path) return null
  const known = watched.get(name)
  if (known?.path === path) return known
  const found = { path, bytes: contentOf(path) ?? Buffer.alloc(0), isTouched: false }
  watched.set(name, found)
  return found
}

/** Bytes in it; 0 outside of a runner. */
export function sizeOfCommandFile(name: CommandFile): number {
  return watch(name)?.bytes.length ?? 0
}

/** Throws where the file cannot be written. Outside of a runner there is nobody to read it. */
export function appendToCommandFile(name: CommandFile, text: string): void {
  const file = watch(name)
  if (file === null) return
  const bytes = Buffer.concat([file.bytes, Buffer.from(text)])
  file.isTouched ||= !isAsWritten(file)
  replace(file.path, bytes)
  file.bytes = bytes
}

/** An output or a state. */
export function setInCommandFile(name: CommandFile, key: string, value: string): void {
  const delimiter = `speedproof_${randomUUID()}`
  appendToCommandFile(name, `${key}<<${delimiter}\n${value}\n${delimiter}\n`)
}

/** Names of the files in which somebody else has written, or that somebody has removed; they are put right again. */
export function restoreCommandFiles(): string[] {
  const touched: string[] = []
  for (const [name, file] of watched) {
    if (!isAsWritten(file)) {
      file.isTouched = true
      tryReplace(file)
    }
    if (file.isTouched) touched.push(variableOf(name))
  }
  return touched
}

/** It may fail, as where the folder is gone too. The file counts as touched anyway, so the verdict is invalid. */
function tryReplace({ path, bytes }: Watched): void {
  try {
    replace(path, bytes)
  } catch {}
}

function variableOf(name: CommandFile): string {
  return `GITHUB_${name}`
}

function isAsWritten({ path, bytes }: Watched): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  // Not read before its size is known: it could be a pipe, or take all memory.
  if (found === undefined) return bytes.length === 0
  return found.isFile() && found.size === bytes.length && (contentOf(path)?.equals(bytes) ?? false)
}

function contentOf(path: string): Buffer | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path) : null
}

/** As a file of its own: a link would lead elsewhere. */
function replace(path: string, bytes: Buffer): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isFile() && found.nlink === 1) {
    writeFileSync(path, bytes)
    return
  }
  rmSync(path, { recursive: true, force: true })
  writeFileSync(path, bytes, { flag: 'wx' })
}
