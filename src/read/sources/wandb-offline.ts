// Reads what the converter has made of an offline run of wandb: each row of its history as one line of JSON.
import type { SourceOf } from '../../config/metrics.ts'
import { TRAINER_FOLDER } from '../../plan/torchrun.ts'
import type { Reader } from '../reader.ts'
import { ofRecords } from './jsonl.ts'

const NAME = 'history.jsonl'
const FILE = `source/${NAME}`

export function wandbOffline(source: SourceOf<'wandb-offline'>): Reader {
  return {
    ...ofRecords(source, FILE, NAME),
    name: source.format,
    liveFile: null,
    collected: { target: FILE, pattern: TRAINER_FOLDER, choice: 'only', converter: 'wandb_offline' },
  }
}
