// speedproof cloud: GPU machines that are rented for one job, through the user's own dstack server.
import type { Command } from 'commander'
import { addCloudStart } from './start.ts'
import { addCloudStop } from './stop.ts'
import { addCloudSweep } from './sweep.ts'

/** `addPlan`: reads experiments, which the workflow's jobs do not need. */
export function addCloud(program: Command, addPlan: (cloud: Command) => void = () => {}): void {
  const cloud = program.command('cloud').description('GPU machines for one job, rented by your dstack server')
  addPlan(cloud)
  addCloudStart(cloud)
  addCloudStop(cloud)
  addCloudSweep(cloud)
}
