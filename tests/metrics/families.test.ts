// What is known of a metric without a row of its own.
import { describe, expect, test } from 'vitest'
import { CATALOGUE } from '../../src/metrics/catalogue.ts'
import { atFastestSteps, evaluationMetric, isLossOfPart, metricNamed } from '../../src/metrics/families.ts'
import { isHeldOutMetric, isTimeMetric, needsGpu, needsText } from '../../src/metrics/questions.ts'

describe("a trainer's own metric", () => {
  test.each([
    'val_loss',
    'val_loss/darcy2d',
    'nrmse',
    'nrmse/advection1d',
    'nrmse/a/b',
    'rmse',
    'rollout_nrmse/darcy2d',
  ])('is an error by the contract if it is called %s', (name) =>
    expect(metricNamed(evaluationMetric(name)).better).toBe('less'),
  )

  test.each(['accuracy', 'nrmse_rollout', 'nrmse/', 'val_loss2', 'constructor', 'rows_bytes'])(
    'has a direction that only the experiment knows if it is called %s',
    (name) => expect(metricNamed(evaluationMetric(name)).better).toBeNull(),
  )

  test.each([
    ['seconds', true],
    ['sampling_seconds', true],
    ['nrmse', false],
    ['seconds_left', false],
  ])('is a time by its name: %s, %s', (name, isTime) => {
    expect(isTimeMetric(evaluationMetric(name))).toBe(isTime)
    expect(isHeldOutMetric(evaluationMetric(name))).toBe(true)
  })

  test('says where the trainer reports it', () => {
    expect(needsText(evaluationMetric('accuracy'))).toBe('metrics.accuracy in evaluation')
    expect(needsText(evaluationMetric('nrmse'))).toBe('metrics.nrmse in evaluation')
  })
})

test('the held-out loss of a part is no whole loss, and no other number of a part', () => {
  expect(
    ['evaluation.val_loss/a', 'evaluation.val_loss', 'val_loss/a', 'evaluation.nrmse/a'].map(isLossOfPart),
  ).toEqual([true, false, false, false])
})

test('a metric at the fastest steps is as its row says, but no gate can name it', () => {
  const { unit, better, isShownOnly, gates } = metricNamed(atFastestSteps('total_seconds'))
  expect({ unit, better, isShownOnly, gates }).toEqual({
    unit: 's',
    better: 'less',
    isShownOnly: true,
    gates: {},
  })
})

test.each(['loss', 'constructor', 'speedup', '_at_fastest_steps'])('%s is no metric', (name) => {
  expect(() => metricNamed(name)).toThrow(name)
})

test('what only a GPU can give is told from what every run has', () => {
  const ofGpu = Object.keys(CATALOGUE).filter(needsGpu)
  expect(ofGpu).toEqual(expect.arrayContaining(['peak_memory_reserved_bytes', 'gpu_utilization']))
  expect(ofGpu).not.toContain('gpu_hours')
  expect(needsText('peak_memory_reserved_bytes')).toBe('a GPU, and peak_memory_reserved_bytes in run_end')
  expect(needsText('gpu_utilization')).toBe('an NVIDIA GPU')
  expect(needsText('total_seconds')).toBeNull()
})
