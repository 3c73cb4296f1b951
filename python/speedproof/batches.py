"""How many samples a batch has, and the batches that a data loader hands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch


def batch_size(batch: Any) -> int | None:
    """The first dimension of the first tensor in it; None where there is no tensor."""
    if isinstance(batch, torch.Tensor):
        return batch.shape[0] if batch.dim() else 1
    parts = (
        batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (list, tuple)) else ()
    )
    return next((size for size in map(batch_size, parts) if size is not None), None)


def watch(loader: Any, see: Callable[[Any], None]) -> bool:
    """Show each batch that the loader hands out from now on; False where it cannot be watched.

    Its class and not the loader is replaced: the loop holds the loader, and libraries ask for its kind.
    """
    kind = type(loader)
    if hasattr(kind, _WATCHED):
        return True

    def iterate(loader_: Any) -> Iterator[Any]:
        for batch in kind.__iter__(loader_):
            see(batch)
            yield batch

    try:
        watched = type(
            kind.__name__, (kind,), {"__iter__": iterate, "__module__": kind.__module__, _WATCHED: True}
        )
        # Accelerate's loaders hide theirs by a property.
        object.__dict__["__class__"].__set__(loader, watched)
    except (AttributeError, TypeError):  # a list, or a class with slots
        return False
    return True


_WATCHED = "_speedproof_watched"


class CountedBatches:
    """Counts the samples of the batches that a loader hands out from now on."""

    def __init__(self, loader: Any) -> None:
        self._samples: int | None = 0 if watch(loader, self._see) else None

    def _see(self, batch: Any) -> None:
        samples = batch_size(batch)
        self._samples = None if samples is None or self._samples is None else self._samples + samples

    def take(self) -> int | None:
        """Those since the last take; None from the first batch on whose size is unknown."""
        samples = self._samples
        self._samples = None if samples is None else 0
        return samples
