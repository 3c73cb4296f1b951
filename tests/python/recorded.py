"""Runs a script under the recorder and reads what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PYTHON = Path(__file__).parents[2] / "python"

PRELUDE = """
import torch
torch.set_num_threads(1)
torch.manual_seed(7)
def model():
    return torch.nn.Linear(4, 1)
def loss(m):
    return m(torch.randn(8, 4)).pow(2).mean()
"""


def events_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def recorded(
    folder: Path, text: str, *words: str, env: dict[str, str] | None = None, launch=()
) -> list[dict]:
    """The events of a script, which has to end with 0."""
    script = folder / "script.py"
    script.write_text(PRELUDE + text)
    run_recorded(folder, *launch, str(script), *words, env=env)
    return events_of(folder / "out")


def run_recorded(folder: Path, *words: str, env: dict[str, str] | None = None) -> str:
    """What it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "speedproof.record", "--out", str(folder / "out"), *words],
        env={**os.environ, "PYTHONPATH": str(PYTHON), "OMP_NUM_THREADS": "1", **(env or {})},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def step_counts(events: list[dict]) -> tuple[int, int]:
    """Steps in windows without a gap, and the skipped ones of them."""
    windows = [event for event in events if event["event"] == "steps"]
    following = 1
    for window in windows:
        assert window["first_step"] == following
        assert all(seconds > 0 for seconds in window["step_seconds"])
        following += len(window["step_seconds"])
    end = events[-1]
    assert end["status"] == "finished"
    assert end["attempted_updates"] == following - 1
    assert end["skipped_updates"] == sum(window["skipped_updates"] for window in windows)
    return following - 1, end["skipped_updates"]


def reason_of(events: list[dict]) -> str:
    assert events[-1]["status"] == "not_measured"
    return events[-1]["reason"]
