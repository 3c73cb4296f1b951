// The one place where numbers are rounded. Everything before it computes with full precision.

/** `significant` digits, never in exponent form between 1e-4 and 1e6. */
export function number(value: number, significant = 4): string {
  if (!Number.isFinite(value)) return 'not measured'
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size < 1e-4 || size >= 1e6) return value.toExponential(Math.max(0, significant - 2))
  const decimals = Math.max(0, significant - 1 - Math.floor(Math.log10(size)))
  return value.toFixed(Math.min(decimals, 20))
}

export function ratio(value: number): string {
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)}x`
}

export function signed(value: number, significant = 3): string {
  return `${value < 0 ? '-' : '+'}${number(Math.abs(value), significant)}`
}

/** 1.27 s, 12.3 ms, 850 us. */
export function seconds(value: number): string {
  const size = Math.abs(value)
  if (size >= 1 || size === 0) return `${number(value, 3)} s`
  return size >= 1e-3 ? `${number(value * 1e3, 3)} ms` : `${number(value * 1e6, 3)} us`
}

/** 45 s, 3 min 20 s, 1 h 05 min. */
export function duration(value: number): string {
  const whole = Math.max(0, Math.round(value))
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`
}

/** Memory limits are written in GB; GiB is what tools print: 50 GB = 46.6 GiB. */
export function bytes(value: number): string {
  return `${number(value / 1e9, 3)} GB (${number(value / 2 ** 30, 3)} GiB)`
}

export function percent(share: number): string {
  return `${number(share * 100, 2)}%`
}
