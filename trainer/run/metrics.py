"""metrics.jsonl: one event a line, written by rank 0, complete up to the last line whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

SCHEMA_VERSION = 1


class MetricsFile:
    """Ranks other than 0 hold one without a path, which writes nothing."""

    def __init__(self, path: Path | None) -> None:
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8")

    def write(self, event: str, **values: object) -> None:
        """Write and flush one event; None is left out, and a number that is not finite is our bug."""
        if self._file is None:
            return
        present = {name: value for name, value in values.items() if value is not None}
        self._file.write(json.dumps({"event": event, **present}, allow_nan=False) + "\n")
        self._file.flush()

    def phase(self, name: str, seconds: float, step: int | None = None) -> None:
        self.write("phase", name=name, seconds=seconds, step=step)
