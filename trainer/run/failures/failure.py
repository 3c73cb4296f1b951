"""Why a rank ended, written where torchrun looks for it."""

from __future__ import annotations

import json
import os
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import torch

from trainer.errors import CannotWrite, ConfigError, Diverged, RanksDisagree

Cause = Literal["out-of-memory", "diverged", "error"]


@dataclass(frozen=True)
class Failure:
    message: str
    cause: Cause
    step: int  # the last one begun; 0 before the first
    rank: int
    call_stack: str

    @staticmethod
    def of(error: BaseException, step: int, rank: int) -> Failure:
        return Failure(
            message=f"{type(error).__name__}: {error}",
            cause=_cause(error),
            step=error.step if isinstance(error, Diverged | RanksDisagree) else step,
            rank=rank,
            # The message of these says what to fix; the stack is of no use.
            call_stack=""
            if isinstance(error, CannotWrite | ConfigError | Diverged | RanksDisagree)
            else "".join(traceback.format_exception(error)),
        )

    def seen_from(self, rank: int) -> Failure:
        """The same failure as the end of another rank."""
        message = f"StoppedWithPeer: rank {self.rank} failed at step {self.step}: {self.message}"
        return Failure(message, self.cause, self.step, rank, self.call_stack)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def is_out_of_memory(error: BaseException) -> bool:
    """The CPU allocator, cuBLAS and cuDNN raise plain RuntimeErrors."""
    wordings = ("can't allocate memory", "out of memory", "ALLOC_FAILED")
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(wording in str(error) for wording in wordings)
    )


def write_error_file(failure: Failure) -> None:
    """Write the format of torch.distributed.elastic.multiprocessing.errors with our cause, step and rank."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    extra = {
        "py_callstack": failure.call_stack,
        "timestamp": str(int(time.time())),
        "cause": failure.cause,
        "step": failure.step,
        "rank": failure.rank,
    }
    Path(path).write_text(json.dumps({"message": {"message": failure.message, "extraInfo": extra}}))


def _cause(error: BaseException) -> Cause:
    if isinstance(error, Diverged):
        return "diverged"
    return "out-of-memory" if is_out_of_memory(error) else "error"
