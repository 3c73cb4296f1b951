import { expect, test } from 'vitest'
import { ConfigError } from '../../../src/errors.ts'
import { passedOnSettings, trainerEnvironment } from '../../../src/io/process/trainer-environment.ts'

test('passes on what finds programs, devices and caches, and nothing else', () => {
  const parent = {
    PATH: '/bin',
    HOME: '/home/a',
    CUDA_VISIBLE_DEVICES: '0,1',
    NCCL_DEBUG: 'WARN',
    TORCHINDUCTOR_CACHE_DIR: '/cache',
    PYTHONPYCACHEPREFIX: '/bytecode',
    PYTORCH_CUDA_ALLOC_CONF: 'x',
    OMP_NUM_THREADS: '4',
    RUNNER_TRACKING_ID: 'github_1',
    RUNNER_TEMP: '/runner/temp',
    SSH_AUTH_SOCK: '/agent',
    GITHUB_REPOSITORY: 'a/b',
    PYTHONPATH: '/elsewhere',
  }
  expect(trainerEnvironment(parent, {})).toEqual({
    PATH: '/bin',
    HOME: '/home/a',
    CUDA_VISIBLE_DEVICES: '0,1',
    NCCL_DEBUG: 'WARN',
    TORCHINDUCTOR_CACHE_DIR: '/cache',
    PYTHONPYCACHEPREFIX: '/bytecode',
    PYTORCH_CUDA_ALLOC_CONF: 'x',
    OMP_NUM_THREADS: '4',
    RUNNER_TRACKING_ID: 'github_1',
  })
})

test('passes on no secret that is named like a setting of a device', () => {
  expect(trainerEnvironment({ NVIDIA_API_KEY: 's', TORCH_TOKEN: 's', CUDA_PASSWORD: 's' }, {})).toEqual({})
})

test('what of it changes how a training runs is told, by name', () => {
  const parent = { PATH: '/bin', OMP_NUM_THREADS: '4', NCCL_DEBUG: 'WARN', TORCH_TOKEN: 's', LANG: 'C' }
  expect(Object.entries(passedOnSettings(parent))).toEqual([
    ['NCCL_DEBUG', 'WARN'],
    ['OMP_NUM_THREADS', '4'],
  ])
})

test('what the experiment names wins and is added', () => {
  const parent = { OMP_NUM_THREADS: '4', LANG: 'C' }
  const extra = { OMP_NUM_THREADS: '1', TOKENIZERS_PARALLELISM: 'false', MAX_TOKENS: '9' }
  expect(trainerEnvironment(parent, extra)).toEqual({ LANG: 'C', ...extra })
})

test.each([
  'GITHUB_TOKEN',
  'GH_TOKEN',
  'hf_token',
  'AWS_SECRET_ACCESS_KEY',
  'WANDB_API_KEY',
  'ACTIONS_RUNTIME_TOKEN',
  'ACTIONS_RESULTS_URL',
  'INPUT_EXPERIMENT',
  'INPUT_GITHUB-TOKEN',
  'GITHUB_OUTPUT',
  'GITHUB_ENV',
  'GITHUB_PATH',
  'GITHUB_STATE',
  'GITHUB_STEP_SUMMARY',
  'SPEEDPROOF_RUN_MARKER',
  '',
  'A=B',
  '1A',
])('the experiment cannot name %j', (name) => {
  expect(() => trainerEnvironment({}, { [name]: 'hidden value' })).toThrow(ConfigError)
})

test('the message names the variable and the remedy, never the value', () => {
  expect(() => trainerEnvironment({}, { GITHUB_TOKEN: 'hidden value' })).toThrowErrorMatchingInlineSnapshot(
    `[ConfigError: env.GITHUB_TOKEN: a trainer may not see it, because its name is that of a secret or of a setting of the job. Remove it, or rename it if it is neither]`,
  )
})

test('a value with a NUL character is refused', () => {
  expect(() => trainerEnvironment({}, { A: 'b\0c' })).toThrow('env.A: got a value with a NUL character')
})
