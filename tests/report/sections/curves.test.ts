// The curves of a comment: a chart that Mermaid reads, and a table of the same numbers beside it.
import { expect, it } from 'vitest'
import { renderMarkdown } from '../../../src/report/markdown.ts'
import { chartMarkdown } from '../../../src/report/sections/curves.ts'
import { aResult } from '../../fixtures/builders.ts'

it('time per sample is drawn from zero, in microseconds, beside its table', async () => {
  const [curve] = (await aResult()).curves
  if (!curve) throw new Error('a finished experiment has a curve')
  const short = {
    ...curve,
    samples: [160, 320],
    values: { baseline: [0.005, 0.004], optimized: [0.00125, 0.001] },
  }
  expect(chartMarkdown(short)).toMatchInlineSnapshot(`
    "**Time per sample after the warm-up steps, by samples seen** (grey: baseline, green: optimized; means over the measured runs)

    \`\`\`mermaid
    %%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "#9a9a9a, #2da44e"}}}}%%
    xychart-beta
      x-axis "samples seen" 160 --> 320
      y-axis "us per sample" 0 --> 5200
      line [5000, 4000]
      line [1250, 1000]
    \`\`\`

    | samples seen | baseline | optimized |
    | ------------ | -------- | --------- |
    | 160          | 5.00 ms  | 1.25 ms   |
    | 320          | 4.00 ms  | 1.00 ms   |"
  `)
})

it('losses of any size are written without exponents, and a flat line has some height', () => {
  const values = { baseline: [0, 3e-9], optimized: [0, 0] }
  const text = chartMarkdown({ metric: 'train_loss', samples: [1, 2_000_000], values })
  const lines = text.split('\n').filter((line) => /axis|line \[/.test(line))
  expect(lines.join('\n')).not.toMatch(/\de[-+]?\d/)
  const flat = chartMarkdown({
    metric: 'train_loss',
    samples: [1, 2],
    values: { baseline: [2, 2], optimized: [2, 2] },
  })
  expect(flat).toContain('1.9 --> 2.1')
})

it('a report has them folded, and none where a variant has no finished run', async () => {
  const result = await aResult()
  expect(renderMarkdown(result)).toContain(
    '<details><summary>Curves of training loss and time per sample</summary>\n\n**Time per sample after',
  )
  expect(renderMarkdown({ ...result, curves: [] })).not.toContain('mermaid')
})
