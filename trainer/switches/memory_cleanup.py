"""When unused memory is given back: never, or every so many updates, garbage collection then included."""

from __future__ import annotations

import gc

import torch


class MemoryCleanup:
    """With a period, Python's own collector is off in between, so that it falls into no other step."""

    def __init__(self, every: int) -> None:
        self.every, self.count = every, 0
        if every:
            gc.collect()
            gc.freeze()  # what exists now stays: looking through it again would find nothing
            gc.disable()

    def after(self, step: int) -> None:
        if self.every and step % self.every == 0:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            self.count += 1

    def effective(self) -> dict[str, str]:
        return {"memory_cleanup": "automatic" if gc.isenabled() else f"every {self.every} updates"}

    def close(self) -> None:
        if self.every:
            gc.enable()
            gc.unfreeze()
