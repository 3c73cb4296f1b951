// What GitHub's own language service finds wrong in a workflow or an action: schema, expressions, inputs of what is used.
import { validate } from '@actions/languageservice'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { readOwnFile } from './files.ts'

/** One line each; empty when nothing is wrong. */
export async function diagnose(path: string): Promise<string[]> {
  const document = TextDocument.create(`file:///${path}`, 'yaml', 1, readOwnFile(path))
  const diagnostics = await validate(document, { fileProvider: { getFileContent: readReferenced } })
  return diagnostics.map(({ range, message }) => `${path}:${range.start.line + 1}: ${message}`)
}

/** A reference with an owner is an example's, to this repository: what it will name is what is here. */
async function readReferenced({ path }: { path: string }) {
  return { name: path, content: readOwnFile(path) }
}
