// Rewrites recorded experiments and ladders of version 1 to version 2, in place: node scripts/rewrite-records.ts FOLDER...
// Each FOLDER, or a folder below it, holds a result.json or the JSON of a ladder. What was measured stays as it is.
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { assess } from '../src/assess.ts'
import { looksAfter } from '../src/config/looks.ts'
import { isMapping } from '../src/config/same-work/differences.ts'
import { Workspace } from '../src/io/folder/workspace.ts'
import { readRecorded } from '../src/io/load/read-recorded.ts'
import { readLadder } from '../src/ladder/io/ladder-file.ts'
import { renderLadderMarkdown } from '../src/ladder/report/report.ts'
import { TRAINER_FOLDER } from '../src/plan/torchrun.ts'
import { DEFAULT_READER } from '../src/read/readers.ts'
import { renderMarkdown } from '../src/report/markdown.ts'

type Json = Record<string, unknown>

/** In the folder of a run; whatever else is there is the trainer's. */
const OURS = ['config.json', 'log.txt', 'machine.jsonl', 'errors', TRAINER_FOLDER]

/** Of a line of evaluations.jsonl: what stands before the name of the run, and the name. */
const RUN_NAME = /^(\{"run": ?")([a-z0-9-]+)"/gm

for (const folder of process.argv.slice(2)) {
  for (const file of globSync('**/*.json', { cwd: folder }).toSorted()) {
    const path = join(folder, file)
    const json: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isMapping(json) || json.schemaVersion !== 1) continue
    if (basename(path) === 'result.json') await rewriteExperiment(path, json)
    else if (Object.hasOwn(json, 'sittings')) await rewriteLadder(path, json)
  }
}

async function rewriteExperiment(path: string, old: Json): Promise<void> {
  const folder = dirname(path)
  for (const run of globSync('runs/*', { cwd: folder })) moveTrainerFiles(join(folder, run))
  const evaluations = join(folder, 'evaluation', 'evaluations.jsonl')
  if (existsSync(evaluations))
    writeFileSync(evaluations, readFileSync(evaluations, 'utf8').replaceAll(RUN_NAME, `$1runs/$2/trainer"`))
  const filled = {
    ...{ untracked: [], outDirectory: 'out', environment: {}, noiseFloors: [] },
    ...{ reevaluation: null, preflight: null },
    ...old,
    schemaVersion: 2,
    experiment: withLooks(old.experiment),
    sources: old.sources ?? sourcesAt(old.revision),
    launches: listOf(old.launches).map(withNulls),
    ...(isMapping(old.reevaluation) ? { reevaluation: withNulls(old.reevaluation) } : {}),
  }
  writeFileSync(path, `${JSON.stringify(filled, null, 2)}\n`)
  // What follows from the measured files is written by today's code.
  const { request, launched, watched, reevaluation } = await readRecorded(path, (recorded) => recorded)
  const result = assess(request, launched, watched, reevaluation)
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
  const { reportFile } = new Workspace(folder)
  if (existsSync(reportFile)) writeFileSync(reportFile, renderMarkdown(result))
  console.log(`${path}: ${result.verdict.verdict}`)
}

function moveTrainerFiles(run: string): void {
  mkdirSync(join(run, TRAINER_FOLDER), { recursive: true })
  for (const name of readdirSync(run).filter((one) => !OURS.includes(one)))
    renameSync(join(run, name), join(run, TRAINER_FOLDER, name))
}

async function rewriteLadder(path: string, old: Json): Promise<void> {
  const launches = listOf(old.launches).map((kept) => ({
    ...kept,
    launch: withNulls(isMapping(kept.launch) ? kept.launch : {}),
    metrics: kept.metrics === null ? null : { [DEFAULT_READER.files[0]]: kept.metrics },
  }))
  const file = { ...old, schemaVersion: 2, experiment: withLooks(old.experiment), launches }
  writeFileSync(path, `${JSON.stringify(file, null, 1)}\n`)
  const ladder = await readLadder(path)
  const report = path.replace(/\.json$/, '.md')
  if (existsSync(report)) writeFileSync(report, renderLadderMarkdown(ladder))
  console.log(`${path}: ${ladder.launches.length} launches`)
}

function withLooks(experiment: unknown): Json {
  if (!isMapping(experiment) || !isMapping(experiment.design)) throw new Error('no design')
  const { blocks, ...design } = experiment.design
  return { ...experiment, design: { looks: looksAfter(blocks as number | number[]), ...design } }
}

function withNulls(launch: Json): Json {
  return { ...launch, compileCache: launch.compileCache ?? null, code: launch.code ?? null }
}

/** Before variants had revisions, both ran the working tree. */
function sourcesAt(revision: unknown): Json {
  const source = { ref: null, revision, lock: null }
  return { baseline: source, optimized: source }
}

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isMapping) : []
}
