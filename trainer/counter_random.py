"""Random numbers as a function of (seed, step, pair, index): the same however a batch is cut."""

from __future__ import annotations

from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

_32_BITS = 0xFFFFFFFF

Step = int | Int[Tensor, ""]


def uniform(
    stream: int, seed: int, step: Step, pair: Int[Tensor, " pairs"], count: int
) -> Float[Tensor, "pairs {count}"]:
    """Return numbers in [0, 1); `stream` separates uses of the same pair.

    A step that is a tensor gives the same numbers, and lets a CUDA graph count its own steps.
    """
    key = mix(mix(mix(stream) ^ seed & _32_BITS) ^ step & _32_BITS)
    index = torch.arange(count, device=pair.device)
    bits = mix(mix(pair ^ key)[:, None] ^ index * 0x9E3779B1 & _32_BITS)
    return (bits >> 8).to(torch.float32) / 2**24  # 24 bits are what float32 holds exactly


Bits = TypeVar("Bits", int, Tensor)


def mix(bits: Bits) -> Bits:
    """A 32-bit hash in int64, one to one, 0 of 0; multipliers below 2^31 keep the products in range."""
    bits = ((bits >> 16) ^ bits) * 0x45D9F3B & _32_BITS
    bits = ((bits >> 15) ^ bits) * 0x2C1B3C6D & _32_BITS
    return (bits >> 16) ^ bits
