"""How many samples a batch has, and the batches that a data loader hands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
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


class CountedBatches:
    """Counts the samples of the batches that a loader hands out from now on."""

    def __init__(self, loader: Any) -> None:
        self._samples: int | None = 0
        kind = type(loader)

        def iterate(loader_: Any) -> Iterator[Any]:
            for batch in kind.__iter__(loader_):
                self._add(batch_size(batch))
                yield batch

        # Its class and not the loader is replaced: the loop holds the loader, and libraries ask for its kind.
        counted = type(kind.__name__, (kind,), {"__iter__": iterate, "__module__": kind.__module__})
        object.__dict__["__class__"].__set__(
            loader, counted
        )  # Accelerate's loaders hide theirs by a property

    def _add(self, samples: int | None) -> None:
        self._samples = None if samples is None or self._samples is None else self._samples + samples

    def take(self) -> int | None:
        """Those since the last take; None from the first batch on whose size is unknown."""
        samples = self._samples
        self._samples = None if samples is None else 0
        return samples


def count_of(dataset: Any) -> int | None:
    return len(dataset) if isinstance(dataset, Sized) and len(dataset) > 0 else None
