// The sections of the report in their order, most important first: the comment leaves out from the end if it must.
import type { Section } from '../section.ts'
import { checksSection } from './checks.ts'
import { curvesSection } from './curves.ts'
import { differencesSection } from './differences.ts'
import { environmentSection } from './environment.ts'
import { launchesSection } from './launches.ts'
import { machineSection } from './machine.ts'
import { meaningsSection } from './meanings.ts'
import { provenanceSection } from './provenance.ts'
import { reproduceSection } from './reproduce.ts'
import { stepChangeSection } from './step-change.ts'
import { gateTableSection, mustKnowSection, verdictSection, warningsSection } from './verdict.ts'

export const SECTIONS: readonly Section[] = [
  verdictSection,
  gateTableSection,
  mustKnowSection,
  warningsSection,
  meaningsSection,
  stepChangeSection,
  curvesSection,
  checksSection,
  machineSection,
  launchesSection,
  differencesSection,
  provenanceSection,
  environmentSection,
  reproduceSection,
]
