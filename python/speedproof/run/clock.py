"""Marks in time: on the host, or in a GPU's stream."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol

import torch

_imported = time.perf_counter()


class Clock(Protocol):
    # The host runs ahead of the device, so that to read a fresh mark costs a wait.
    lag: bool

    def mark(self) -> Any: ...
    def has_passed(self, mark: Any) -> bool: ...
    def seconds(self, start: Any, end: Any) -> float: ...


class HostClock:
    lag = False

    def mark(self) -> float:
        return time.perf_counter()

    def has_passed(self, mark: float) -> bool:
        return True

    def seconds(self, start: float, end: float) -> float:
        return end - start


class CudaClock:
    """Events in the current stream. A host clock around an asynchronous launch measures nothing."""

    lag = True

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def has_passed(self, mark: torch.cuda.Event) -> bool:
        return mark.query()

    def seconds(self, start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        end.synchronize()
        return start.elapsed_time(end) / 1e3


def clock_for(device: torch.device) -> Clock:
    """NotImplementedError for a device whose work runs behind the host's back, and that has no clock here."""
    if device.type == "cuda":
        return CudaClock(device)
    if device.type == "cpu":
        return HostClock()
    raise NotImplementedError(f"speedproof measures on cpu and cuda devices, not on {device.type}")


def seconds_since_process_start() -> float:
    """From the kernel's record of this process; elsewhere than on Linux, from the import of this file."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except OSError:
        return time.perf_counter() - _imported
    return max(0.0, uptime - int(fields[19]) / os.sysconf("SC_CLK_TCK"))
