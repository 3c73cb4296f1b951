"""metrics.jsonl: one event a line, written by rank 0, complete up to the last line whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

from trainer.process.folders import refusal_told
from trainer.run.checkpoint.files import LAST

SCHEMA_VERSION = 1


class MetricsFile:
    """Ranks other than 0 hold one without a path, which writes nothing."""

    def __init__(self, path: Path | None, earlier: bytes = b"") -> None:
        """earlier: the lines after run_start of the interrupted run that this one continues."""
        self._file, self._path, self._earlier = None, path, earlier
        self._run_start_bytes = 0
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = (path.with_suffix(".partial") if earlier else path).open("wb")

    def write(self, event: str, **values: object) -> None:
        """Write and flush one event; None is left out, and a number that is not finite is our bug.

        CannotWrite where the system refuses.
        """
        if self._file is None:
            return
        present = {name: value for name, value in values.items() if value is not None}
        line = json.dumps({"event": event, **present}, allow_nan=False).encode() + b"\n"
        with refusal_told(self._path, resumes_from=self._path.parent / LAST):
            self._file.write(line)
            if event == "run_start":
                self._run_start_bytes = self._file.tell()
                self._file.write(self._earlier)
            self._file.flush()
            if event == "run_start" and self._earlier:  # only now can the old file be let go
                self._path.with_suffix(".partial").replace(self._path)

    def phase(self, name: str, seconds: float, step: int | None = None) -> None:
        self.write("phase", name=name, seconds=seconds, step=step)

    def bytes_after_run_start(self) -> int:
        """How much there is to keep if the run is resumed from here."""
        return self._file.tell() - self._run_start_bytes if self._file else 0


def has_ended(path: Path) -> bool:
    """Whether the run that wrote it came to its end."""
    *_, last = path.read_bytes().splitlines() or [b""]
    try:
        event = json.loads(last)
    except ValueError:  # cut off
        return False
    return isinstance(event, dict) and event.get("event") == "run_end"


def lines_after_run_start(path: Path, count: int) -> bytes:
    """Return the first `count` bytes after run_start; what was written after a checkpoint is left behind."""
    with path.open("rb") as file:
        file.readline()
        return file.read(count)
