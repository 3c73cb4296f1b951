// The story: experiments are loaded, planned, run, measured, judged and reported.
import { assess } from './assess.ts'
import { saveCombined } from './io/folder/combined-folder.ts'
import { loadAll } from './io/load/load-all.ts'
import { openAll } from './io/load/resume.ts'
import type { Job, Stage } from './io/run/job.ts'
import { lockSite } from './io/run/lock-site.ts'
import { runExperiments, storeNoiseFloors } from './io/run/run-experiments.ts'
import { planRuns } from './plan/plan.ts'
import { type Combined, combine } from './record/combined.ts'

/** All experiments are loaded before the first is run; folders and machine are locked until the last is done. */
export async function main(job: Job, stage: Stage): Promise<Combined> {
  await using call = await loadAll({ ...job, ...stage })
  await using site = await lockSite(call.loaded, job, stage)
  const experiments = await openAll(call.loaded, site.lock(), job.resume, stage)
  const planned = experiments.map((one) => ({ ...one, plan: planRuns(one.request.experiment) }))
  // Each launch is followed by measuring and judging what there is, which is saved and decides on the next.
  const { results, problem } = await runExperiments(planned, site, stage, assess)
  const combined = combine(results)
  const folder = await saveCombined(job.outDirectory, combined, experiments)
  try {
    await storeNoiseFloors(results, job.noiseFloorFolder, stage.note)
  } finally {
    await stage.publish(combined, folder)
  }
  if (problem !== null) throw problem
  return combined
}
