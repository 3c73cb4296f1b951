// What became of a place that a result is shown in. A missing place never fails a gate.
export type Surface =
  | { status: 'written' }
  | { status: 'skipped'; reason: string }
  | { status: 'failed'; reason: string }
