// What one call leaves on disk: the folder of its experiment, or one for each below a common report.
import { join, relative } from 'node:path'
import type { Combined } from '../../record/combined.ts'
import { renderCombinedMarkdown } from '../../report/combined.ts'
import { saveCommonReport, type Workspace } from './workspace.ts'

export interface CombinedFolder {
  readonly directory: string
  /** One for each experiment. */
  readonly resultFiles: readonly string[]
  readonly reportFile: string
  /** What belongs to this call, relative to the folder. */
  artifactFiles(): Promise<string[]>
}

/** Each experiment is saved already; several of them get their common report. */
export async function saveCombined(
  outDirectory: string,
  combined: Combined,
  answered: readonly { readonly workspace: Workspace }[],
): Promise<CombinedFolder> {
  const workspaces = answered.map(({ workspace }) => workspace)
  const resultFiles = workspaces.map(({ resultFile }) => resultFile)
  const [first, ...others] = workspaces
  if (first && others.length === 0) {
    const { directory, reportFile } = first
    return { directory, resultFiles, reportFile, artifactFiles: () => first.artifactFiles() }
  }
  const reportFile = await saveCommonReport(outDirectory, renderCombinedMarkdown(combined))
  return {
    directory: outDirectory,
    resultFiles,
    reportFile,
    async artifactFiles() {
      const perExperiment = await Promise.all(
        workspaces.map(async (workspace) => {
          const files = await workspace.artifactFiles()
          return files.map((file) => join(relative(outDirectory, workspace.directory), file))
        }),
      )
      return [relative(outDirectory, reportFile), ...perExperiment.flat()]
    },
  }
}
