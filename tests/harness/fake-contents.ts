// Branches, files and people of a repository, answering as GitHub's REST API does.
import { createHash } from 'node:crypto'
import { type Answer, type Request, refuse } from './local-server.ts'
import type { Operation } from './openapi.ts'
import { userJson } from './user-json.ts'

/** By branch, or by the commit of a head, then by path. */
export type FakeFiles = Record<string, Record<string, string>>

export function answerContents(
  files: FakeFiles,
  permissions: Readonly<Record<string, string>>,
  { id: operation, parameters }: Operation,
  { url }: Request,
): Answer {
  switch (operation) {
    case 'repos/get-branch': {
      const branch = parameters.branch ?? ''
      return branch in files ? { kind: 'answer', status: 200, body: branchJson(branch) } : absent()
    }
    case 'repos/get-content': {
      const branch = Object.keys(files).find((name) => [name, commitOf(name)].includes(parameters.ref ?? ''))
      const text = files[branch ?? '']?.[parameters.path ?? '']
      return text === undefined
        ? absent()
        : { kind: 'answer', status: 200, body: fileJson(parameters.path ?? '', text) }
    }
    default: {
      const login = parameters.username ?? ''
      const permission = permissions[login]
      const body = { permission, role_name: permission, user: { ...userJson(login), role_name: permission } }
      return permission === undefined ? absent() : { kind: 'answer', status: 200, body }
    }
  }

  function absent(): Answer {
    return refuse(404, 'Not Found')
  }

  function branchJson(name: string) {
    const address = `${url.origin}/repos/octo-lab/solver/branches/${name}`
    const person = { name: 'Octo', email: 'octo@example.com', date: '2026-11-20T10:00:00Z' }
    const sha = commitOf(name)
    const page = `https://github.com/octo-lab/solver/commit/${sha}`
    return {
      name,
      commit: {
        url: address,
        sha,
        node_id: 'C_1',
        html_url: page,
        comments_url: address,
        commit: {
          url: address,
          author: person,
          committer: person,
          message: 'Merge',
          comment_count: 0,
          tree: { sha, url: address },
        },
        author: null,
        committer: null,
        parents: [],
      },
      _links: { html: page, self: address },
      protected: true,
      protection: { enabled: true },
      protection_url: `${address}/protection`,
    }
  }

  function fileJson(path: string, text: string) {
    const address = `${url.origin}/repos/octo-lab/solver/contents/${path}`
    return {
      type: 'file',
      encoding: 'base64',
      size: text.length,
      name: path,
      path,
      // GitHub breaks the lines.
      content: Buffer.from(text).toString('base64').replace(/.{60}/g, '$&\n'),
      sha: commitOf(text),
      url: address,
      git_url: address,
      html_url: address,
      download_url: address,
      _links: { git: address, html: address, self: address },
    }
  }
}

/** The fake's commit of a branch. */
export function commitOf(branch: string): string {
  return createHash('sha1').update(branch).digest('hex')
}
