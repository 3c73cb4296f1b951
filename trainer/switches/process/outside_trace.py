"""Lets Speedproof trace a few updates, where it asks for it."""

from __future__ import annotations

import os
from typing import Protocol, runtime_checkable

import torch


@runtime_checkable
class OutsideTrace(Protocol):
    def after_step(self) -> None: ...
    def finish(self) -> None: ...


def outside_trace(device: torch.device) -> OutsideTrace | None:
    """None unless Speedproof has launched this training to trace it; then its package is on the path.

    Its hook of optimizers would not do: a step in a CUDA graph calls none.
    """
    if not os.environ.get("SPEEDPROOF_PROFILE"):
        return None
    from speedproof.profile.capture import capture_of_environment

    return capture_of_environment(device)
