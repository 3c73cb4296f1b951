"""Simulated failures for tests, asked for by SPEEDPROOF_TEST_FAULT=KIND@rankR@stepS."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainer.errors import ConfigError

VARIABLE = "SPEEDPROOF_TEST_FAULT"
KINDS = ("out-of-memory", "nan", "crash", "hang", "kill", "drift")


@dataclass(frozen=True)
class Fault:
    kind: str
    rank: int
    step: int

    def strike(self, loss: Tensor, model: nn.Module, rank: int, step: int) -> Tensor:
        """Return the loss, spoilt if this is the moment, or fail as the kind says."""
        if (rank, step) != (self.rank, self.step):
            return loss
        match self.kind:
            case "nan":
                return loss * float("nan")
            case "out-of-memory":
                raise torch.OutOfMemoryError(f"simulated by {VARIABLE}")
            case "hang":
                time.sleep(1e6)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "drift":
                next(model.parameters()).data.add_(1e-3)
                return loss
        raise RuntimeError(f"simulated by {VARIABLE}")


def requested_fault() -> Fault | None:
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    parts = re.fullmatch(rf"({'|'.join(KINDS)})@rank(\d+)@step(\d+)", text)
    if parts is None:
        raise ConfigError(
            f'{VARIABLE}: got "{text}", expected KIND@rankR@stepS with KIND one of {", ".join(KINDS)}'
        )
    return Fault(parts[1], int(parts[2]), int(parts[3]))
