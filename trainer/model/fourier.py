"""Fourier features of coordinates on the unit interval."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class FourierFeatures(nn.Module):
    """sin and cos of 2 pi f x for each frequency f."""

    def __init__(self, frequencies: tuple[int, ...]) -> None:
        super().__init__()
        self.size = 2 * len(frequencies)
        # A buffer: a tensor made from a list in each call would wait for the device.
        angular = 2 * math.pi * torch.tensor(frequencies, dtype=torch.float32)
        self.register_buffer("angular", angular, persistent=False)

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape features"]:
        angle = x[..., None] * self.angular
        return torch.cat([angle.sin(), angle.cos()], dim=-1)


def regular_grid(points: int, device: torch.device | None = None) -> Float[Tensor, " {points}"]:
    """Coordinates i / points of a reduced grid: the first cell centre is taken as 0."""
    return torch.arange(points, device=device) / points
