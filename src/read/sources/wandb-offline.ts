// Reads what the converter has made of an offline run of wandb: each row of its history as one line of JSON.
import type { SourceOf } from '../../config/metrics.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import type { Reader } from '../reader.ts'
import { ofRecords } from './jsonl.ts'

const NAME = 'history.jsonl'

export function wandbOffline(source: SourceOf<'wandb-offline'>): Reader {
  return {
    ...ofRecords(source, `source/${NAME}`, NAME),
    name: source.format,
    liveFile: null,
    collected: { pattern: TRAINER_FOLDER, choice: 'only', converter: 'wandb_offline' },
  }
}
