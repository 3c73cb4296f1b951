"""Ends launches with all of their ranks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SURRENDER_SECONDS = 60.0  # torchrun gives its ranks 30 to end


def end_by_exception() -> None:
    """Let a termination of this process, as by `timeout` or Ctrl-C, go through its `finally` clauses."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))


def end(launch: subprocess.Popen) -> None:
    """Ask it to end and return when it is gone, with all that it started and that is still its own.

    torchrun's ranks have sessions of their own, so that no signal to a group reaches them; torchrun itself,
    asked to end, ends them. One that is left would disturb what is measured next.
    """
    family = _descendants(launch.pid)
    if launch.poll() is None:
        launch.terminate()
        try:
            launch.wait(SURRENDER_SECONDS)
        except subprocess.TimeoutExpired:
            launch.kill()
    launch.wait()
    now = _processes()
    for pid, process in family.items():
        if now.get(pid, (0, 0))[1] == process[1]:  # not another one that got its number
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    parents, processes = {pid}, _processes()
    while parents:
        children = {child: process for child, process in processes.items() if process[0] in parents}
        found |= children
        parents = set(children)
    return found


def _processes() -> dict[int, tuple[int, int]]:
    """Parent and start time of every process, as Linux has them."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            fields = file.read_bytes().rpartition(b")")[2].split()  # the name before it may be any bytes
            found[int(file.parent.name)] = int(fields[1]), int(fields[19])
    return found
