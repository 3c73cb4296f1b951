// The ways by which NCCL moves data between GPUs, as an experiment names them and as NCCL's log tells them.

/** From the fastest to the slowest; `other`: that of a network plugin. */
export const TRANSPORTS = ['nvlink', 'pcie', 'shared-memory', 'infiniband', 'other', 'sockets'] as const
export type Transport = (typeof TRANSPORTS)[number]
