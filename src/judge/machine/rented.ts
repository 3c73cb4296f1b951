// A rented machine may be a part of a host: who works on the rest of it is not seen from here.
import type { Preflight } from '../../measure/machine-record.ts'
import { type MachineCheck, machineCheck, notMeasured } from './machine-check.ts'

export function checkNeighbours(preflight: Preflight | null): MachineCheck[] {
  if (preflight?.host.isRented !== true) return []
  const unseen =
    'this machine is rented: other tenants of its host, and what they do to its CPUs, memory, disk and network, cannot be seen from here'
  return [machineCheck('neighbours', notMeasured(unseen))]
}
