// The sections of an experiment on the page, most important first: one file each.
import type { HtmlSection } from '../section.ts'
import { checksHtml } from './checks.ts'
import { differencesHtml } from './differences.ts'
import { environmentHtml } from './environment.ts'
import { gatesHtml } from './gates.ts'
import { lossesHtml } from './losses.ts'
import { reproduceHtml } from './reproduce.ts'
import { stepChangeHtml } from './step-change.ts'
import { stepsHtml } from './steps.ts'
import { timePartsHtml } from './time-parts.ts'
import { timelineHtml } from './timeline.ts'

export const HTML_SECTIONS: readonly HtmlSection[] = [
  gatesHtml,
  stepsHtml,
  stepChangeHtml,
  timePartsHtml,
  lossesHtml,
  timelineHtml,
  differencesHtml,
  checksHtml,
  environmentHtml,
  reproduceHtml,
]
