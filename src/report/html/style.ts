// How the page looks: light and dark, on a phone, and on paper.
import { CHART_STYLE } from './bundled.ts'

const LIGHT = `
--paper: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --soft: #f6f8fa; --link: #0550ae;
--baseline: #6e7781; --optimized: #1a7f37; --machine: #0969da; --alarm: #cf222e;
--passed: #116329; --failed: #a40e26; --open: #7d4e00; --good: #dafbe1;
--start: #8250df; --compile: #bf8700; --steps: #0969da; --evaluation: #1a7f37; --checkpoint: #bc4c00; --rest: #8c959f; --teal: #1b7c83; --pink: #bf3989;
`
const DARK = `
--paper: #0d1117; --ink: #e6edf3; --quiet: #9198a1; --line: #3d444d; --soft: #151b23; --link: #79c0ff;
--baseline: #9198a1; --optimized: #3fb950; --machine: #58a6ff; --alarm: #f85149;
--passed: #56d364; --failed: #ff7b72; --open: #e3b341; --good: #12261e;
--start: #a371f7; --compile: #d29922; --steps: #388bfd; --evaluation: #3fb950; --checkpoint: #db6d28; --rest: #6e7681; --teal: #39c5cf; --pink: #f778ba;
`

const OWN = `
:root { ${LIGHT} color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { :root { ${DARK} } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 960px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 22px; line-height: 1.3; margin: 0; } h2 { font-size: 19px; line-height: 1.3; margin: 0; }
h3 { font-size: 18px; margin: 32px 0 8px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
h4 { font-size: 15px; margin: 20px 0 8px; }
p { margin: 8px 0; } a { color: var(--link); }
ul { padding-left: 20px; } li { margin: 4px 0; }
.note, footer { color: var(--quiet); font-size: 13px; }
header.verdict { border: 1px solid var(--line); border-left: 6px solid var(--open); border-radius: 6px; padding: 12px 16px;
  background: var(--soft); margin-bottom: 16px; }
header.verdict.passed { border-left-color: var(--passed); }
header.verdict.ladder { border-left-color: var(--machine); }
header.verdict.failed { border-left-color: var(--failed); }
.badge { font-weight: 600; color: var(--open); text-transform: uppercase; font-size: 0.8em; letter-spacing: 0.03em;
  border: 1px solid currentColor; border-radius: 4px; padding: 1px 6px; white-space: nowrap; }
.badge.passed, .badge.gain { color: var(--passed); } .badge.failed, .badge.invalid, .badge.loss { color: var(--failed); }
.badge.not-measured, .badge.not-active, .badge.no-gain { color: var(--quiet); }
.scroll { overflow-x: auto; margin: 8px 0; }
.scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: 4px 8px; text-align: left; vertical-align: top; min-width: 4em; overflow-wrap: break-word; }
thead th { background: var(--soft); } tbody th { font-weight: 600; }
td, tbody th { max-width: 420px; }
figure { margin: 16px 0 24px; } figcaption { margin-bottom: 6px; }
.legend { display: inline-flex; flex-wrap: wrap; gap: 0 14px; font-size: 13px; color: var(--quiet); font-variant-numeric: tabular-nums; }
.legend > span:empty { display: none; }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 5px; vertical-align: -1px; }
${[
  'baseline',
  'optimized',
  'machine',
  'start',
  'compile',
  'steps',
  'evaluation',
  'checkpoint',
  'rest',
  'teal',
  'pink',
]
  .map((name) => `.swatch.${name} { background: var(--${name}); } svg .${name} { fill: var(--${name}); }`)
  .join('\n')}
svg .longer { fill: var(--alarm); } .swatch.longer { background: var(--alarm); }
svg .shorter { fill: var(--optimized); } .swatch.shorter { background: var(--optimized); }
.swatch.uncounted { background: var(--quiet); opacity: 0.35; } .swatch.failed { border: 2px solid var(--alarm); }
.plot { width: 100%; min-height: 40px; }
.plot .u-over:focus-visible { outline: 2px solid var(--link); }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font-size: 12px; font-variant-numeric: tabular-nums; }
svg text.limit { fill: var(--ink); }
svg.gate, svg.parts, svg.rungs { max-width: 720px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 20px; } .pair > figure { min-width: 0; }
svg.gate .good { fill: var(--good); }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .limit { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 4 3; } svg text.limit { stroke: none; }
svg .interval line { stroke: var(--open); stroke-width: 3; } svg .estimate { fill: var(--open); }
svg.passed .interval line { stroke: var(--passed); } svg.passed .estimate { fill: var(--passed); }
svg.failed .interval line { stroke: var(--failed); } svg.failed .estimate { fill: var(--failed); }
svg .block { fill: var(--machine); fill-opacity: 0.55; }
svg.strip { height: 28px; padding: 0 8px 0 76px; } svg.strip rect { stroke: var(--paper); stroke-width: 1; vector-effect: non-scaling-stroke; }
svg.strip .uncounted { fill-opacity: 0.35; } svg.strip .failed { stroke: var(--alarm); stroke-width: 3; }
svg .predicted { stroke: var(--checkpoint); stroke-width: 3; } svg circle.predicted { fill: var(--paper); stroke-width: 2; }
svg.rungs .interval line { stroke: var(--quiet); } svg.rungs .estimate { fill: var(--quiet); }
svg.rungs .gain .interval line { stroke: var(--passed); } svg.rungs .gain .estimate { fill: var(--passed); }
svg.rungs .loss .interval line { stroke: var(--failed); } svg.rungs .loss .estimate { fill: var(--failed); }
svg .one { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 3 3; }
summary { cursor: pointer; } .behind > summary { color: var(--quiet); font-size: 13px; }
details.experiment { border: 1px solid var(--line); border-radius: 6px; padding: 8px 16px; margin: 16px 0; }
details.experiment > summary { font-weight: 600; padding: 4px 0; } details.experiment[open] > summary { margin-bottom: 12px; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: 12px; overflow-x: auto; font-size: 13px; overflow-wrap: normal; }
@media (max-width: 600px) { body { padding: 10px; font-size: 14px; } h3 { font-size: 16px; } details.experiment { padding: 6px 8px; } .pair { grid-template-columns: 1fr; }
  svg.gate text, svg.parts text { font-size: 20px; } svg.rungs text { font-size: 18px; } }
@media print { * { print-color-adjust: exact; } .behind:not([open]) { display: none; } body { max-width: none; padding: 0; font-size: 11px; } footer, nav { display: none; } figure, tr { break-inside: avoid; }
  h3 { break-after: avoid; } .scroll { overflow: visible; } pre { white-space: pre-wrap; } }
`

export const PAGE_STYLE = `${CHART_STYLE}${OWN}`
