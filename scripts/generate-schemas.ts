// Writes schemas/*.json from the zod sources, so that editors and the Python tests check by the same rules.
import { mkdirSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { experimentFile } from '../src/config/experiment.ts'
import { metricsEvent } from '../src/read/events.ts'

const schemas = {
  experiment: { title: 'A Speedproof experiment', schema: experimentFile },
  metrics: { title: 'One line of metrics.jsonl', schema: metricsEvent },
}

mkdirSync('schemas', { recursive: true })
for (const [name, { title, schema }] of Object.entries(schemas)) {
  // 'input': a file may carry keys that a newer trainer adds; the parser drops them.
  const json = { title, ...z.toJSONSchema(schema, { io: 'input' }) }
  writeFileSync(`schemas/${name}.schema.json`, `${JSON.stringify(json, null, 2)}\n`)
}
