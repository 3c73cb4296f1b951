// The kind of a failure, from the text of an exception or the last line of a program.
import type { RankFailure } from '../../../measure/outcome.ts'

/** These are about input: what they quote says nothing of the process. */
const ABOUT_INPUT =
  /^(?:[\w.]+\.)?(?:Value|Key|Type|Index|Attribute|Name|Assertion|Import|ModuleNotFound|FileNotFound|JSONDecode|Syntax)Error\b/

/** Python's and torch's classes, numpy's `_ArrayMemoryError` among them. */
const MEMORY_CLASS = /^(?:[\w.]+\.)?\w*MemoryError\b/
const OUT_OF_MEMORY = [
  /\bout of memory\b/i,
  /\b(?:CUBLAS|CUDNN|CUSOLVER|CUSPARSE|CURAND|HIPBLAS|ROCBLAS|MIOPEN)_STATUS_ALLOC(?:ATION)?_FAILED\b/i,
  /\bCUFFT_ALLOC_FAILED\b|\bcudaErrorMemoryAllocation\b|\b(?:CUDA_ERROR|hipError)_?OUT_?OF_?MEMORY\b/i,
  /DefaultCPUAllocator: (?:can't allocate|not enough) memory/,
  // NCCL, the system's errno 12, C++, and the scheduler.
  /Failed to CUDA \w*alloc\b|Cannot allocate memory|\bstd::bad_alloc\b|\boom[-_ ]?kill/i,
]

const NOT_FINITE = `(?:nan|nans|inf|infs|infinity|infinite|non-?finite|not finite|not a number)`
const OF_TRAINING = `(?:loss|losses|gradients?|grads?|grad_norm|weights?|logits|activations?)`
const DIVERGED = [
  /^(?:[\w.]+\.)?FloatingPointError\b/,
  new RegExp(String.raw`\b${OF_TRAINING}\b[^.;]{0,80}\b${NOT_FINITE}\b`, 'i'),
  new RegExp(String.raw`\b${NOT_FINITE}\b[^.;]{0,40}\b${OF_TRAINING}\b`, 'i'),
  /\breturned nan values\b|\b(?:loss|training|model) (?:has |have )?(?:diverged|exploded)\b/i,
  // Of scaled half precision, when every scale overflows.
  /\bminimum loss scale\b|\bloss scale already at minimum\b/i,
]

/** What an error about input says where a number is the matter, and no option or file that has such a name. */
const SAYS_NOT_FINITE = new RegExp(
  String.raw`\b(?:is|are|was|were|became|become|becomes|contains?|got|returned|produced)\s+(?:\S+\s+){0,2}${NOT_FINITE}\b|\b${NOT_FINITE}\b\s+(?:in\s+)?(?:the\s+)?${OF_TRAINING}\b`,
  'i',
)

const SIGNAL =
  /\bended by SIG[A-Z]+|\bkilled by signal\b|\bterminated with signal\b|\bSignal \d+ \(SIG|\bgot signal: \d+/

/** What a rank says when it has lost another one, or waits for it in vain. */
const CONSEQUENCE = [
  /connection (?:was )?(?:closed|reset) by (?:remote )?peer|remote process (?:has )?exit|broken pipe|\bpair\.cc\b/i,
  /\bncclRemoteError\b|\bNCCL communicator (?:was|has been) aborted|communicator .{0,60}\babort/i,
  /watchdog|collective operation timeout|(?:timed out|timeout) (?:after )?waiting|wait timeout|socket timeout/i,
  /\bDist(?:Network|Store)Error\b|\bTCPStore\b|failed to pass monitoredBarrier|Horovod has been shut down|\bRendezvous\w*Error\b/,
]

const matches = (patterns: readonly RegExp[], text: string) => patterns.some((pattern) => pattern.test(text))

/** `text`: an exception as `@record` or a traceback has it (class, colon, message), or a line that a program printed. */
export function causeOf(text: string): RankFailure['cause'] {
  if (MEMORY_CLASS.test(text)) return 'out-of-memory'
  if (!ABOUT_INPUT.test(text) && matches(OUT_OF_MEMORY, text)) return 'out-of-memory'
  if (matches(DIVERGED, text) && (!ABOUT_INPUT.test(text) || SAYS_NOT_FINITE.test(text))) return 'diverged'
  return SIGNAL.test(text) ? 'signal' : 'error'
}

/** Whether another rank's failure, where there is one, is why this one failed. */
export function isConsequence(text: string): boolean {
  return matches(CONSEQUENCE, text)
}
