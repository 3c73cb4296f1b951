"""Reads the metrics.jsonl of a training, which may still be written."""

from __future__ import annotations

import json
from pathlib import Path

from trainer.errors import ConfigError


def events(path: Path, first: str | None = None) -> list[dict]:
    """Return the events of whole lines alone, since the last one may be half written; none without a file.

    ConfigError where a line is no event, or the first one not that of this name.
    """
    text = path.read_text(errors="replace") if path.exists() else ""
    found = []
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1):
        try:
            event = json.loads(line, parse_constant=lambda name: None)  # NaN and infinities are no JSON
        except ValueError:
            event = None
        wanted = first if number == 1 and first else "event"
        if not _is_event(event) or (number == 1 and first and event["event"] != first):
            raise ConfigError(
                f"--out: line {number} of {path} is not a {wanted}; move it away, or name another folder"
            )
        found.append(event)
    return found


def _is_event(event: object) -> bool:
    if not isinstance(event, dict) or "event" not in event:
        return False
    needed = {"evaluation": "val_loss", "phase": "seconds"}.get(event["event"])
    return needed is None or isinstance(event.get(needed), float)
