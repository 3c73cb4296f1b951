// What the token of a job may do: asked for, capped by the caller, and read-only for a fork's pull request.
import type { Permissions } from './workflow-file.ts'

const RANK = { none: 0, read: 1, write: 2 } as const

/** GitHub refuses to start a run in which a called workflow asks for more than its caller has. */
export function permissionsOf(
  asked: Permissions | undefined,
  ofCaller: Permissions | null,
  job: string,
): Permissions {
  if (asked === undefined && ofCaller === null) throw new Error(`${job}: no permissions are named anywhere`)
  if (asked === undefined || ofCaller === null) return asked ?? ofCaller ?? {}
  for (const [scope, level] of Object.entries(asked)) {
    const allowed = ofCaller[scope] ?? 'none'
    if (RANK[level] > RANK[allowed]) {
      throw new Error(`${job} is requesting '${scope}: ${level}', but is only allowed '${scope}: ${allowed}'`)
    }
  }
  return asked
}

export function readOnly(permissions: Permissions): Permissions {
  return Object.fromEntries(
    Object.entries(permissions).map(([scope, level]) => [scope, level === 'write' ? 'read' : level]),
  )
}
