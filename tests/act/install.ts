// Installs act before the tests, once.
import { goTool } from '../../scripts/workflow-tools.ts'

export function setup(): void {
  goTool('act')
}
