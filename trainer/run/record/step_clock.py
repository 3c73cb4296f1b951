"""Seconds of each step without waiting for the device."""

from __future__ import annotations

import time

import torch


class HostClock:
    """For a CPU, where work is done when the call returns."""

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._started = 0.0

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(self) -> None:
        self._seconds.append(time.perf_counter() - self._started)

    def drain(self) -> list[float]:
        """Return the seconds of the steps since the last call."""
        seconds, self._seconds = self._seconds, []
        return seconds


class CudaClock:
    """Events in the stream, read only when drained."""

    def __init__(self) -> None:
        self._events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def start(self) -> None:
        self._events.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
        self._events[-1][0].record()

    def stop(self) -> None:
        self._events[-1][1].record()

    def drain(self) -> list[float]:
        """Wait for the last step, then return the seconds of the steps since the last call."""
        events, self._events = self._events, []
        if events:
            events[-1][1].synchronize()
        return [start.elapsed_time(stop) / 1e3 for start, stop in events]


StepClock = HostClock | CudaClock


def step_clock(device: torch.device) -> StepClock:
    return CudaClock() if device.type == "cuda" else HostClock()
