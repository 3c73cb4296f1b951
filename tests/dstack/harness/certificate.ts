// A certificate for one name, made for one run of the tests.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export interface Certificate {
  readonly keyFile: string
  readonly certificateFile: string
}

export function makeCertificate(folder: string, name: string): Certificate {
  const files = { keyFile: join(folder, 'key.pem'), certificateFile: join(folder, 'certificate.pem') }
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const out = ['-keyout', files.keyFile, '-out', files.certificateFile]
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...out]
  const { status, stderr, error } = spawnSync('openssl', words, { encoding: 'utf8' })
  if (error) throw new Error(`openssl cannot be started (${error.message}): install it`)
  if (status !== 0) throw new Error(`openssl ended with ${status}: ${stderr}`)
  return files
}
