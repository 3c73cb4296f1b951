"""How many samples a batch has, and the batches that a data loader hands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

# Of texts that are packed behind each other into one row: what is in it, no dimension tells.
_PACKED = ("position_ids", "cu_seq_lens_q", "cu_seqlens", "seq_idx")


def batch_size(batch: Any) -> int | None:
    """The first dimension of the first tensor that has one; None without one, or where texts are packed."""
    tensors = tensors_of(batch)
    size = next((tensor.shape[0] for tensor in tensors if tensor.dim() > 0), None)
    if size is None:
        return 1 if isinstance(batch, torch.Tensor) else None
    is_packed = size == 1 and isinstance(batch, Mapping) and any(name in batch for name in _PACKED)
    return None if is_packed else size


def tensors_of(batch: Any) -> list[torch.Tensor]:
    """All in it, in order."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    parts = (
        batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (list, tuple)) else ()
    )
    return [tensor for part in parts for tensor in tensors_of(part)]


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
