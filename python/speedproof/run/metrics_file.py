"""metrics.jsonl: one event a line, by rank 0."""

from __future__ import annotations

import json
import os
from pathlib import Path

NAME = "metrics.jsonl"


class MetricsFile:
    def __init__(self, folder: Path) -> None:
        """FileExistsError where another process or an earlier run has written there."""
        folder.mkdir(parents=True, exist_ok=True)
        # Appending, so that what another process adds (write_reason) is not written over.
        self._file = open(folder / NAME, "a", encoding="utf-8", opener=_exclusive)  # noqa: SIM115

    def write(self, event: str, **values: object) -> None:
        """Write and flush; what is None is left out. A NaN is written as one: the reader reports it."""
        present = {name: value for name, value in values.items() if value is not None}
        self._file.write(json.dumps({"event": event, **present}) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _exclusive(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, 0o666)


def write_reason(folder: Path, reason: str) -> None:
    """Say in the folder's metrics why the run is not measured. It is no finished run for any reader."""
    folder.mkdir(parents=True, exist_ok=True)
    line = json.dumps({"event": "run_end", "status": "not_measured", "reason": reason})
    with (folder / NAME).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
