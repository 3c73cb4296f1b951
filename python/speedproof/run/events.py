"""What all ranks have measured -> the events of metrics.jsonl, on rank 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from speedproof.run.clock import seconds_since_process_start
from speedproof.run.metrics_file import MetricsFile
from speedproof.run.ranks import Row


class EventWriter:
    """Rows are of all ranks, rank 0 first."""

    def __init__(self, file: MetricsFile, describe: Callable[[], dict[str, object]]) -> None:
        """describe: what run_start says, read after the first steps."""
        self._file, self._describe = file, describe
        self._between: list[tuple[int, str, dict[str, object]]] = []
        self._has_start = False
        self._written = 0
        self._samples: int | None = 0
        self._skipped = 0

    def add(self, step: int, event: str, values: dict[str, object]) -> None:
        """An event after so many steps, which may still have to be written."""
        self._between.append((step, event, values))
        self._write_between(self._written)

    def close(self) -> None:
        self._file.close()

    def write_start(self, rows: list[Row]) -> None:
        self._file.write(
            "run_start",
            schema_version=1,
            world_size=len(rows),
            device_names=[row["device"] for row in rows],
            **self._describe(),
        )
        self._has_start = True
        self._write_between(0)

    def write_window(self, rows: list[Row]) -> None:
        """Split where an evaluation or a checkpoint lies between two of its steps."""
        # All steps from the slowest rank: a maximum of each step would count one delay on several ranks.
        slowest = max(rows, key=lambda row: math.fsum(row["seconds"]))
        samples = _over_ranks([row["samples"] for row in rows], sum)
        losses = _over_ranks([row["loss"] for row in rows], lambda values: math.fsum(values) / len(rows))
        skipped = [any(of_ranks) for of_ranks in zip(*(row["skipped"] for row in rows), strict=True)]
        first, count = self._written, len(skipped)
        cuts = sorted({step - first for step, _, _ in self._between if first < step < first + count})
        for start, end in zip([0, *cuts], [*cuts, count], strict=True):
            part = slice(start, end)
            self._count(samples[part] if samples else None, sum(skipped[part]))
            self._file.write(
                "steps",
                first_step=first + start + 1,
                step_seconds=slowest["seconds"][part],
                samples=samples[part] if samples else None,
                train_loss=losses[part] if losses and all(map(math.isfinite, losses[part])) else None,
                learning_rate=rows[0]["learning_rate"][part] if rows[0]["learning_rate"] else None,
                skipped_updates=sum(skipped[part]),
            )
            self._written = first + end
            self._write_between(self._written)

    def _count(self, samples: list[int] | None, skipped: int) -> None:
        self._skipped += skipped
        if samples is None or self._samples is None:
            self._samples = None
        else:
            self._samples += sum(samples)

    def _write_between(self, until: int) -> None:
        """Nothing goes before run_start."""
        while self._has_start and self._between and self._between[0][0] <= until:
            step, event, values = self._between.pop(0)
            if event == "evaluation":
                values["samples_seen"] = self._samples
            self._file.write(event, **values, step=step)

    def write_end(self, rows: list[Row]) -> None:
        self._write_between(self._written)
        memory = [row["memory"] for row in rows]
        columns = {name: [of_rank[name] for of_rank in memory] for name in memory[0]} if all(memory) else {}
        self._file.write(
            "run_end",
            status="finished",
            samples=self._samples,
            attempted_updates=self._written,
            skipped_updates=self._skipped,
            total_seconds=seconds_since_process_start(),
            **columns,
        )


def _over_ranks(columns: list[list[Any] | None], combine: Callable[[Any], Any]) -> list[Any] | None:
    present = [column for column in columns if column is not None]
    if len(present) < len(columns):
        return None
    return [combine(values) for values in zip(*present, strict=True)]
