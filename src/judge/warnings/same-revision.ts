// Both variants are the same code, so that they cannot differ.
import { sameRevisionText } from '../../config/revisions/revision-rules.ts'
import type { Warning } from './warning.ts'

export const sameRevisionWarnings: Warning<'experiment' | 'sources'> = ({ experiment, sources }) => {
  const text = sameRevisionText(experiment, sources)
  return text === null ? [] : [text]
}
