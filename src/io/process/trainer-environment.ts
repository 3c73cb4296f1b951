// Chooses the environment variables that a trainer, which is untrusted code, may see.
import { ConfigError } from '../../errors.ts'

/** Passed on from our own environment: what finds programs, devices, caches and temporary folders. */
const PASSED_ON = new Set([
  'PATH',
  'HOME',
  'LANG',
  'LD_LIBRARY_PATH',
  'CC',
  'CXX',
  'TMPDIR',
  'PYTHONPYCACHEPREFIX',
  'RUNNER_TRACKING_ID',
  // The compile cache of torch is named after the user, who has no other name in many containers.
  'USER',
  'LOGNAME',
])
const PASSED_ON_FAMILIES = /^(CUDA_|NCCL_|NVIDIA_|TORCH|PYTORCH_|TRITON_|OMP_)/

// What steers the job or opens something: neither a pattern above nor an experiment can let these through.
const SECRET = /(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE_KEY)(_|$)/i
const STEERS_THE_JOB = /^(ACTIONS_|INPUT_|GITHUB_(OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)$|SPEEDPROOF_)/i

/** `extra` is what the experiment names; it wins over what is passed on. */
export function trainerEnvironment(
  parent: NodeJS.ProcessEnv,
  extra: Record<string, string>,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(parent)) {
    if (value !== undefined && isPassedOn(name)) environment[name] = value
  }
  for (const [name, value] of Object.entries(extra)) {
    checkNamed(name, value)
    environment[name] = value
  }
  return environment
}

/** What is passed on in addition to the experiment's own and changes how a training runs; sorted by name. */
export function passedOnSettings(parent: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(parent).filter((name) => PASSED_ON_FAMILIES.test(name) && isPassedOn(name))
  return Object.fromEntries(names.sort().map((name) => [name, parent[name] ?? '']))
}

function isPassedOn(name: string): boolean {
  return (PASSED_ON.has(name) || PASSED_ON_FAMILIES.test(name)) && !isForbidden(name)
}

function isForbidden(name: string): boolean {
  return SECRET.test(name) || STEERS_THE_JOB.test(name)
}

/** The value may be a secret: no message repeats it. */
function checkNamed(name: string, value: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new ConfigError(
      `env: got the name ${JSON.stringify(name)}, expected letters, digits and underscores such as OMP_NUM_THREADS`,
    )
  }
  if (isForbidden(name)) {
    throw new ConfigError(
      `env.${name}: a trainer may not see it, because its name is that of a secret or of a setting of the job. Remove it, or rename it if it is neither`,
    )
  }
  if (value.includes('\0')) {
    throw new ConfigError(`env.${name}: got a value with a NUL character; remove it`)
  }
}
