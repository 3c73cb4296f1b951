// The registry: every source of metrics that Speedproof can read, and the one that an experiment names.
import { type MetricsSource, metricsSection } from '../config/metrics.ts'
import { COLLECTION_PROBLEM, type Reader } from './reader.ts'
import { huggingFace } from './sources/hugging-face.ts'
import { jsonl } from './sources/jsonl.ts'
import { lightningCsv } from './sources/lightning-csv.ts'
import { log } from './sources/log.ts'
import { recorder } from './sources/recorder.ts'
import { speedproof } from './sources/speedproof.ts'
import { tensorboard } from './sources/tensorboard.ts'
import { wandbOffline } from './sources/wandb-offline.ts'

export function readerOf(source: MetricsSource): Reader {
  switch (source.format) {
    case 'speedproof':
      return speedproof
    case 'recorder':
      return recorder(source)
    case 'jsonl':
      return jsonl(source)
    case 'hugging-face':
      return huggingFace(source)
    case 'lightning-csv':
      return lightningCsv(source)
    case 'log':
      return log(source)
    case 'tensorboard':
      return tensorboard(source)
    case 'wandb-offline':
      return wandbOffline(source)
  }
}

/** One of each format: which settings it has makes no difference to what is asked of these. */
const SOURCES: readonly MetricsSource[] = [
  { format: 'speedproof' },
  { format: 'recorder' },
  { format: 'jsonl', file: 'x.jsonl', keys: { step: 'step', val_loss: 'val_loss' } },
  { format: 'hugging-face' },
  { format: 'lightning-csv' },
  { format: 'log', patterns: { step: '(?<step>.)', evaluation: '(?<step>.)(?<val_loss>.)' } },
  { format: 'tensorboard' },
  { format: 'wandb-offline', keys: { step: 'step', val_loss: 'val_loss' } },
].map((source) => metricsSection.parse(source))

export const READERS: readonly Reader[] = SOURCES.map(readerOf)

/** What any of them may read, as paths in a run's folder. */
export const SOURCE_FILES: readonly string[] = [
  ...new Set([...READERS.flatMap(({ files }) => files), COLLECTION_PROBLEM]),
]

/** Of what our converters read, since they copy nothing: event files and offline runs may be large. */
export const RAW_SOURCE = /(?:^|\/)(?:events\.out\.tfevents\.[^/]*|[^/]*\.wandb)$/
