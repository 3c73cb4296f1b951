"""Seconds and memory of the named parts of a step, each begun and ended with the device at rest."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from unittest.mock import patch

import torch
from torch.profiler import record_function

Place = tuple[str, object, str]  # region, object or class, name of its method


@dataclass
class Regions:
    """A region inside another is taken off the outer one. Each is an NVTX range and one of a Chrome trace."""

    device: torch.device
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    peak_bytes: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # over what was there before
    _open: list[tuple[str, int]] = field(default_factory=list)  # name, bytes there before
    _since: float = 0.0

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        self._turn(name)
        with record_function(name), self._nvtx(name):
            yield
        self._turn(None)

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            with self.region(name):
                return function(*arguments, **options)

        return timed

    @contextmanager
    def timing(self, places: Iterable[Place]) -> Iterator[None]:
        """Time methods, a region's all together, until it is left."""
        with ExitStack() as stack:
            for name, owner, method in places:
                stack.enter_context(patch.object(owner, method, self.around(name, getattr(owner, method))))
            yield

    def _turn(self, entered: str | None) -> None:
        """Give time and peak since the last turn to the innermost region, then enter or leave one."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        now = time.perf_counter()
        if self._open:
            name, before = self._open[-1]
            self.seconds[name] += now - self._since
            if self.device.type == "cuda":
                peak = torch.cuda.max_memory_allocated(self.device) - before
                self.peak_bytes[name] = max(self.peak_bytes[name], peak)
        if entered is None:
            self._open.pop()
        else:
            self._open.append((entered, self._allocated()))
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        self._since = time.perf_counter()

    def _allocated(self) -> int:
        return torch.cuda.memory_allocated(self.device) if self.device.type == "cuda" else 0

    @contextmanager
    def _nvtx(self, name: str) -> Iterator[None]:
        if self.device.type != "cuda":
            yield
            return
        torch.cuda.nvtx.range_push(name)
        yield
        torch.cuda.nvtx.range_pop()
