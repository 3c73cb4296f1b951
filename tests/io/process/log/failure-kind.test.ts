import { expect, test } from 'vitest'
import { causeOf, isConsequence } from '../../../../src/io/process/log/failure-kind.ts'

test.each([
  'OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB',
  'torch.cuda.OutOfMemoryError: CUDA out of memory.',
  'MemoryError',
  'numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 PiB for an array',
  "RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes",
  'RuntimeError: CUDA error: out of memory',
  'RuntimeError: CUDA driver error: out of memory',
  'torch.AcceleratorError: HIP error: out of memory',
  'RuntimeError: MPS backend out of memory (MPS allocated: 8 GB)',
  'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',
  'RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED',
  'RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED',
  "torch.distributed.DistBackendError: ncclUnhandledCudaError: Last error: Cuda failure 2 'out of memory'",
  'torch.distributed.DistBackendError: NCCL error: Failed to CUDA calloc async 608 bytes',
  'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes.',
  'OSError: [Errno 12] Cannot allocate memory',
  'std::bad_alloc',
  'Some of the step tasks have been OOM Killed.',
])('a lack of memory in the spelling %j', (text) => {
  expect(causeOf(text)).toBe('out-of-memory')
})

test.each([
  'FloatingPointError: loss is nan',
  'Loss is nan, stopping training',
  'ValueError: The loss returned in `training_step` is nan or inf.',
  "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.",
  'RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite',
  'Exception: Current loss scale already at minimum - cannot decrease scale anymore.',
  'FloatingPointError: Minimum loss scale reached (0.0001).',
  'AssertionError: found NaN in the gradients of layer 3',
  'RuntimeError: training diverged at step 12',
])('a training that diverged in the spelling %j', (text) => {
  expect(causeOf(text)).toBe('diverged')
})

test.each([
  'RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.',
  'torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL',
  'torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15',
  'ended by SIGSEGV',
])('a signal in the spelling %j', (text) => {
  expect(causeOf(text)).toBe('signal')
})

test.each([
  '',
  'ValueError: read FloatingPointError in a file',
  "KeyError: 'out of memory'",
  "ValueError: could not convert string to float: 'CUDA out of memory'",
  "ValueError: cannot convert float NaN to integer, and no 'info'",
  'triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 294912',
  'RuntimeError: CUDA error: an illegal memory access was encountered',
  'RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED',
  'RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly',
  'ValueError: loss has to be one of l1, l2, info',
])('%j is none of these', (text) => {
  expect(causeOf(text)).toBe('error')
})

test.each([
  ['RuntimeError: [pair.cc:561] Connection closed by peer [127.0.0.1]:21888', true],
  ['ConnectionResetError: [Errno 104] Connection reset by peer', true],
  ['BrokenPipeError: [Errno 32] Broken pipe', true],
  ['torch.distributed.DistBackendError: ncclRemoteError: remote process exited', true],
  ['[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)', true],
  ['RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 3000 ms', true],
  ['torch.distributed.DistStoreError: wait timeout after 30000ms, keys: /worker', true],
  ['HorovodInternalError: Horovod has been shut down.', true],
  ['ValueError: the data folder is empty', false],
  ['ConnectionRefusedError: the feature store is down', false],
])('whether %j follows from another rank is %s', (text, expected) => {
  expect(isConsequence(text)).toBe(expected)
})
