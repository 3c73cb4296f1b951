"""When unused memory is given back: never, or every so many updates, garbage collection then included."""

from __future__ import annotations

import gc

import torch


class MemoryCleanup:
    """With a period, Python's own collector is off in between, so that it falls into no other step.

    In every run what exists after the first update, mostly modules and compiled code, is looked through once
    and then left alone: otherwise a full collection falls into some later step, which on a CPU took 240 ms.
    """

    def __init__(self, every: int) -> None:
        self.every, self.settled, self.made = every, False, 0
        if every:
            gc.disable()

    def clean_up(self, step: int) -> None:
        """Where it is due: in the time of its step, as Python's own collections are where they are on."""
        if self.every and step % self.every == 0:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            self.made += 1

    def settle(self) -> None:
        """Once in a run, between two steps."""
        if not self.settled:
            gc.collect()
            gc.freeze()
            self.settled = True

    def effective(self) -> dict[str, str]:
        return {"memory_cleanup": "automatic" if gc.isenabled() else f"every {self.every} updates"}

    def close(self) -> None:
        gc.unfreeze()
        if self.every:
            gc.enable()
