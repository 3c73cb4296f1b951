"""Sums up the traces of a folder in one small file, which is all that the report reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speedproof.profile.capture import WINDOWS
from speedproof.profile.events import BadTrace, events_of
from speedproof.profile.gpu import operations_of, time_of_step
from speedproof.profile.operators import gpu_time_by_operator, host_time_of_step

NAME = "profile.json"
SCHEMA_VERSION = 1
# What is beyond is one row.
MOST_ROWS = 200
MOST_CHARACTERS = 300
REST = "all others"
# The artifact is uploaded and downloaded as a whole.
MOST_KEPT_BYTES = 200_000_000


def summarize(folder: Path) -> dict[str, Any]:
    """What the windows of the folder show; where nothing can be read, `problems` alone."""
    told, problems = _windows(folder)
    found: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "problems": problems, "traces": []}
    for window in told:
        path = folder / Path(str(window.get("file"))).name
        try:
            steps = int(window["steps"])
            found |= _read(path, str(window["name"]), steps)
            size = path.stat().st_size
            found["traces"].append({"file": path.name, "bytes": size, "steps": steps})
            if window.get("memory"):
                found["memory"] = window["memory"]
            if size > MOST_KEPT_BYTES:
                path.unlink()
                problems.append(
                    f"{path.name}: {size / 1e6:.0f} MB are too many to keep; it is summed up only"
                )
        except (BadTrace, OSError, KeyError, TypeError, ValueError) as error:
            problems.append(f"{path.name}: {error}" if path.name not in str(error) else str(error))
    return found


def _windows(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    try:
        told = json.loads((folder / WINDOWS).read_text())
        return list(told["windows"]), [str(told["problem"])] if "problem" in told else []
    except FileNotFoundError:
        return [], ["nothing was traced: no step was recorded in a process with SPEEDPROOF_PROFILE"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [], [f"{WINDOWS}: {error!r}"]


def _read(path: Path, name: str, steps: int) -> dict[str, Any]:
    if name == "operators":
        rows = gpu_time_by_operator(events_of(path), steps)
        return {"operators": _bounded(rows)} if rows else {}
    if name == "cpu":
        found = host_time_of_step(events_of(path), steps)
    else:
        operations = operations_of(events_of(path))
        found = time_of_step(operations, steps) if operations else {}
    return {key: _bounded(value) if isinstance(value, list) else value for key, value in found.items()}


def _bounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [{**row, "name": row["name"][:MOST_CHARACTERS]} for row in rows[:MOST_ROWS]]
    beyond = rows[MOST_ROWS:]
    if beyond:
        kept.append(
            {
                **({"kind": "others"} if "kind" in beyond[0] else {}),
                "name": REST,
                "ms": sum(row["ms"] for row in beyond),
                "launches": sum(row["launches"] for row in beyond),
            }
        )
    return kept


def write_summary(found: dict[str, Any], path: Path) -> None:
    try:
        text = json.dumps(found, allow_nan=False)
    except ValueError:
        problem = "the traces hold numbers that are not finite"
        text = json.dumps({"schema_version": SCHEMA_VERSION, "problems": [problem], "traces": []})
    path.write_text(text)
