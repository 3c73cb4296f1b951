import { expect, test } from 'vitest'
import { linesOf } from '../../../../src/io/process/log/log-lines.ts'
import { readExceptions, readMessage } from '../../../../src/io/process/log/traceback.ts'

const HEADER = 'Traceback (most recent call last):'
const FRAMES = ['  File "train.py", line 3, in main', '    step()']
const raised = (...message: string[]) => [HEADER, ...FRAMES, ...message]

const read = (lines: readonly string[]) => readExceptions(linesOf(lines.join('\n')))
const last = (lines: readonly string[]) => read(lines).at(-1)?.text

test.each([
  ['of any name', raised('helion.exc.Unsupported: this kernel'), 'helion.exc.Unsupported: this kernel'],
  ['with a part of the message below', raised('E: a', '  b', '', '  c', 'd'), 'E: a b c d'],
  ['up to an empty line', raised('E: a', '', 'Set the environment variable HYDRA_FULL_ERROR=1'), 'E: a'],
  ['up to a warning', raised('E: a', 'x.py:4: UserWarning: leaked'), 'E: a'],
  ['with the first line of the message empty', raised('E: ', 'a'), 'E: a'],
  ['up to words of C++', raised('E: a', 'frame #0: c10::Error::Error() + 0x4d (0x2b)'), 'E: a'],
  [
    'raised while another is handled',
    [
      ...raised('KeyError: 1'),
      '',
      'During handling of the above exception, another exception occurred:',
      '',
      ...raised('E: b'),
    ],
    'E: b',
  ],
  [
    'with its direct cause',
    [
      ...raised('KeyError: 1'),
      '',
      'The above exception was the direct cause of the following exception:',
      '',
      ...raised('E: b'),
    ],
    'E: b (caused by KeyError: 1)',
  ],
  [
    'of a worker',
    [
      ...raised('KeyError: Caught KeyError in DataLoader worker process 0.'),
      'Original Traceback (most recent call last):',
      ...FRAMES,
      "KeyError: 'x'",
    ],
    "KeyError: 'x'",
  ],
  ['after one that a thread had', ['Exception in thread Thread-1:', ...raised('E: a')], undefined],
  ['after one that Python ignores', ['Exception ignored in: <f>', ...raised('E: a')], undefined],
  ['of torchrun', raised('torch.distributed.elastic.multiprocessing.errors.ChildFailedError: '), undefined],
  ['without a traceback', ['step 1', 'ValueError: a'], 'ValueError: a'],
  ['in the middle of a line', ['step 1: loss 0.5', 'an Error: in the middle of a line'], undefined],
  ['that would be a command of the runner', raised('E: ##[error]gone'), 'E: # #[error]gone'],
  ['of a process beside another', [HEADER, HEADER, ...FRAMES, ...FRAMES, 'E: a', 'E: a'], 'E: a'],
  ['below a bar', [`10%|█  | 1/9 [00:01<00:09, 1.00it/s]${HEADER}`, ...FRAMES, 'E: a'], 'E: a'],
])('an exception %s', (_, lines, expected) => {
  expect(last(lines)).toBe(expected)
})

test('the lines of ranks do not mix', () => {
  const lines = ['[rank1]: Traceback (most recent call last):', ...raised('E: a'), '[rank1]: F: b', 'more']
  expect(read(lines)).toMatchObject([
    { rank: null, text: 'E: a' },
    { rank: 1, text: 'F: b' },
  ])
})

test.each([
  ['AssertionError', 'train.py, line 3, in main: step()'],
  ['AssertionError: ', 'train.py, line 3, in main: step()'],
  ['AssertionError: three', null],
])('%j is told with the place %j', (line, location) => {
  expect(read(raised(line))).toMatchObject([{ location }])
})

test('a message that is no exception is none', () => {
  expect(readMessage('its disk is full')).toBeNull()
  expect(readMessage('')).toBeNull()
})

// Each would take hours if its cost grew with the square of its length.
test.each([
  ['digits', '1'.repeat(250_000)],
  ['bars', '1%|'.repeat(80_000)],
  ['headers', `${HEADER}\n`.repeat(7000)],
  ['frames', '  File "x", line 1\n'.repeat(13_000)],
  ['ranks', Array.from({ length: 20_000 }, (_, rank) => `[rank${rank}]: E`).join('\n')],
  [
    'causes',
    `${raised('E: a').join('\n')}\nThe above exception was the direct cause of the following exception:\n`.repeat(
      1500,
    ),
  ],
])('many %s are read in the time that one takes', (_, text) => {
  expect(readExceptions(linesOf(text)).every((exception) => exception.text.length < 1100)).toBe(true)
})
