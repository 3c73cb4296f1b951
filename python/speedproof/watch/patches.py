"""What is watched in torch by replacing a function: skipped updates, autocast, backward passes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch


class ScalerWatch:
    """Notices the updates that a GradScaler skips, also those in which it calls no optimizer."""

    def __init__(self) -> None:
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[Any], None] = lambda optimizer: None
        self._found: list[torch.Tensor] = []
        self._is_on = False

    def install(self) -> None:
        self._is_on = True
        original = torch.amp.GradScaler.step

        @functools.wraps(original)
        def step(self_: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._is_on:
                return original(self_, optimizer, *args, **kwargs)
            self.before()
            result = original(self_, optimizer, *args, **kwargs)
            if self_.is_enabled():
                # One element per device, which the scaler makes anew for each update.
                self._found += self_._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()
            self.after(optimizer)
            return result

        torch.amp.GradScaler.step = step  # type: ignore[method-assign]

    def remove(self) -> None:
        """The function stays, since others may have wrapped it, and only calls the original."""
        self._is_on = False
        self._found = []

    def take(self) -> list[torch.Tensor]:
        """What the calls since the last take have found: an update is skipped where one is not 0."""
        found, self._found = self._found, []
        return found


class AutocastWatch:
    """Notices which autocast contexts are entered."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._is_on = False

    def install(self) -> None:
        self._is_on = True
        original = torch.autocast.__enter__

        @functools.wraps(original)
        def enter(context: Any) -> Any:
            result = original(context)
            if self._is_on and context._enabled:
                self.seen.add(f"{str(context.fast_dtype).removeprefix('torch.')} on {context.device}")
            return result

        torch.autocast.__enter__ = enter  # type: ignore[method-assign]

    def remove(self) -> None:
        self._is_on = False


def watch_backward(around: Callable[[], Any]) -> None:
    """Run each backward pass, also by Tensor.backward, inside the context that `around` makes."""

    def watched(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            with around():
                return original(*args, **kwargs)

        return call

    torch.autograd.backward = watched(torch.autograd.backward)
    torch.autograd.grad = watched(torch.autograd.grad)


def frames_inside(*names: str) -> int:
    """How many functions of these files and names (file:function) are being called in this thread."""
    frame, count = sys._getframe(1), 0
    while frame is not None:
        code = frame.f_code
        count += f"{code.co_filename}:{code.co_name}".endswith(names)
        frame = frame.f_back  # type: ignore[assignment]
    return count
