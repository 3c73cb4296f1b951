"""Fourier features of coordinates on the unit interval or square."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class FourierFeatures(nn.Module):
    """sin and cos of 2 pi f x for each frequency f and coordinate x."""

    def __init__(self, frequencies: tuple[int, ...], dimensions: int) -> None:
        super().__init__()
        self.size = 2 * len(frequencies) * dimensions
        # A buffer: a tensor made from a list in each call would wait for the device.
        angular = 2 * math.pi * torch.tensor(frequencies, dtype=torch.float32)
        self.register_buffer("angular", angular, persistent=False)

    def forward(self, places: Float[Tensor, "*shape dimensions"]) -> Float[Tensor, "*shape features"]:
        angle = (places[..., None] * self.angular).flatten(-2)
        return torch.cat([angle.sin(), angle.cos()], dim=-1)
