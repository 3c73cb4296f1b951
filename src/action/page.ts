// The HTML report in the action: made if it can be, kept in the folder and as an artifact of its own. No trouble here changes a verdict.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { uploadPage } from '../io/github/artifact/artifact.ts'
import type { VerdictName } from '../judge/verdict.ts'
import type { PageLink } from '../report/github/sections.ts'

export type MadePage =
  /** `verdict`: the one that it shows. */
  | { readonly status: 'made'; readonly text: string; readonly verdict: VerdictName }
  | { readonly status: 'not-made'; readonly reason: string }

export async function pageOf(
  make: () => Promise<Omit<Extract<MadePage, { status: 'made' }>, 'status'>>,
): Promise<MadePage> {
  try {
    return { ...(await make()), status: 'made' }
  } catch (error) {
    return { status: 'not-made', reason: messageOf(error) }
  }
}

/** `artifactName`: of the artifact beside it. The page is one file, which GitHub shows without unpacking. */
export async function publishPage(page: MadePage, artifactName: string): Promise<PageLink> {
  if (page.status === 'not-made') return page
  const folder = await mkdtemp(join(process.env.RUNNER_TEMP ?? tmpdir(), 'speedproof-page-'))
  try {
    // The service takes the name of the file for that of the artifact.
    const file = join(folder, `${artifactName}.html`)
    await writeFile(file, page.text)
    const uploaded = await uploadPage(file)
    return uploaded.status === 'uploaded' ? { status: 'uploaded', url: uploaded.url } : uploaded
  } catch (error) {
    return { status: 'not-uploaded', reason: messageOf(error) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
