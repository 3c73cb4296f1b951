// The page's script: draws every chart of the data in the page, in the colours of the theme, and shows what is under the pointer.
import { axisText } from '../axis-text.ts'
import type { ChartSpec } from '../chart-spec.ts'
import { drawChart } from './chart.ts'

const specs: readonly ChartSpec[] = JSON.parse(document.getElementById('charts')?.textContent ?? '[]')

interface Drawn {
  readonly remove: () => void
}

/** Of what is drawn now, by its place. */
const drawn = new Map<HTMLElement, Drawn>()

function draw(place: HTMLElement): void {
  const spec = specs.find(({ id }) => id === place.dataset.chart)
  const width = place.clientWidth
  // In a folded part there is no room yet; it is drawn when there is.
  if (spec === undefined || width === 0) return
  drawn.get(place)?.remove()
  drawn.set(
    place,
    drawChart(spec, place, width, (index) => showValues(spec, index)),
  )
}

function showValues({ id, x, y, places, series }: ChartSpec, index: number | null): void {
  const legend = document.querySelector(`[data-legend="${CSS.escape(id)}"]`)
  const at = index === null ? '' : `${x.label}: ${axisText(x, places[index])}`
  const texts = series.map(({ middle, spread }) => {
    if (index === null) return ''
    const [low, high] = [axisText(y, spread?.low[index]), axisText(y, spread?.high[index])]
    const around = low === high || low === '' ? '' : ` (${low} to ${high})`
    return `${axisText(y, middle[index]) || 'none'}${around}`
  })
  const place = legend?.querySelector('.place')
  if (place) place.textContent = at
  legend?.querySelectorAll('.value').forEach((value, position) => {
    value.textContent = texts[position] ?? ''
  })
}

function drawAll(): void {
  for (const place of places) draw(place)
}

const places = [...document.querySelectorAll<HTMLElement>('[data-chart]')]
const widths = new Map<Element, number>()
const observer = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    // A chart that has just been drawn changes the height of its place, never the width.
    if (!(target instanceof HTMLElement) || widths.get(target) === contentRect.width) continue
    widths.set(target, contentRect.width)
    draw(target)
  }
})
for (const place of places) observer.observe(place)
/** A link to an experiment that is folded leads to nothing. */
function openLinked(): void {
  const linked = location.hash === '' ? null : document.getElementById(location.hash.slice(1))
  if (linked instanceof HTMLDetailsElement) linked.open = true
}

openLinked()
addEventListener('hashchange', openLinked)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll)
// Paper is white, whatever the theme.
matchMedia('print').addEventListener('change', drawAll)
