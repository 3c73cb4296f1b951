"""Which samples an evaluation was given: a hash that their order and their batches do not change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch

from speedproof.watch.batches import tensors_of

# Odd numbers of 64 bits with bits of both kinds all over (from splitmix64, Steele et al. 2014).
_FACTORS = (-7046029254386353131, -4658895280553007687, -7723592293110705685)
# What is mixed at once takes some copies of eight bytes a value: on a GPU, memory that a peak would show.
_VALUES_AT_ONCE = 2**20


class HeldOutSet:
    """The samples in the batches of one evaluation on this process."""

    def __init__(self) -> None:
        self._checksums: list[torch.Tensor] = []
        self._is_known = True

    def see(self, batch: Any) -> None:
        """Batches without a tensor, or with one that has no plain memory, leave the set unknown."""
        checksums = None
        with suppress(Exception):  # sparse, nested, ...: the loop that loads the batch must go on
            checksums = _checksums_of(batch)
        if checksums is None:
            self._is_known = False
        else:
            self._checksums.append(checksums)

    @classmethod
    def of(cls, batch: Any) -> HeldOutSet:
        whole = cls()
        whole.see(batch)
        return whole

    def clear(self) -> None:
        self._checksums, self._is_known = [], True

    def take(self) -> list[int] | None:
        """A checksum of each sample since the last take; None where they are unknown."""
        seen, is_known = self._checksums, self._is_known
        self.clear()
        return torch.cat([part.cpu() for part in seen]).tolist() if seen and is_known else None


def described(of_ranks: list[list[int] | None]) -> dict[str, object]:
    """What an evaluation event says of its set; nothing where one rank's part is unknown.

    Of several ranks each sample counts once: a sampler repeats some, to give all ranks as many.
    """
    known = [part for part in of_ranks if part is not None]
    if len(known) < len(of_ranks):
        return {}
    samples = sorted(known[0] if len(known) == 1 else set().union(*known))
    return {
        "evaluation_samples": len(samples),
        "data_hash": hashlib.sha256(repr(samples).encode()).hexdigest(),
    }


def _checksums_of(batch: Any) -> torch.Tensor | None:
    """Of shape (samples,), from all tensors that have a row for each sample."""
    tensors = tensors_of(batch)
    size = next((tensor.shape[0] for tensor in tensors if tensor.dim() > 0), None)
    rows = [tensor for tensor in tensors if tensor.dim() > 0 and tensor.shape[0] == size]
    if not rows:
        return None
    mask = batch.get("attention_mask") if isinstance(batch, Mapping) else None
    with torch.no_grad():
        parts = [_of_tensor(tensor, place, mask).to(rows[0].device) for place, tensor in enumerate(rows)]
        return _mixed(torch.stack(parts).sum(0))


def _of_tensor(tensor: torch.Tensor, place: int, mask: torch.Tensor | None) -> torch.Tensor:
    """Sum over the values of each row, each mixed with its position; integers wrap around.

    What the mask of a text leaves out is padding, whose length depends on the other texts of the batch.
    """
    rows = _as_integers(tensor.detach())
    kept = None
    if mask is not None and mask.shape == tensor.shape:
        kept = (mask != 0).to(rows.device)
    total = torch.zeros(rows.shape[0], dtype=torch.int64, device=rows.device)
    columns = max(1, _VALUES_AT_ONCE // max(1, rows.shape[0]))
    for start in range(0, rows.shape[1], columns):
        part = rows[:, start : start + columns].to(torch.int64)
        position = torch.arange(start, start + part.shape[1], device=rows.device)
        values = _mixed(part * _FACTORS[0] + (position + 1) * _FACTORS[1] + place)
        total += (values if kept is None else values * kept[:, start : start + columns]).sum(1)
    return total


def _as_integers(tensor: torch.Tensor) -> torch.Tensor:
    """The bits of each value, of shape (samples, values)."""
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    plain = plain.to(torch.uint8) if plain.dtype == torch.bool else plain
    flat = plain.reshape(plain.shape[0], -1).contiguous()
    integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return flat.view(integers[flat.element_size()])


def _mixed(values: torch.Tensor) -> torch.Tensor:
    values = (values ^ (values >> 30)) * _FACTORS[1]
    values = (values ^ (values >> 27)) * _FACTORS[2]
    return values ^ (values >> 31)
