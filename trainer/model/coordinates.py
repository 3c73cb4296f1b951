"""Coordinates of regular grids on the unit interval and square, and Fourier features of them."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.model.token_grid import token_grid


def coordinates(grid: tuple[int, ...], wraps_around: bool = True) -> Float[Tensor, "points dimensions"]:
    """Return i / points along each axis, the last axis fastest: the first cell centre is taken as 0.

    Where places do not wrap around it is half of that, so that the features of opposite borders differ.
    """
    axes = torch.meshgrid(*(torch.arange(points) / points for points in grid), indexing="ij")
    places = torch.stack([axis.flatten() for axis in axes], dim=-1)
    return places if wraps_around else places / 2


def token_centres(
    tokens: int, grid: tuple[int, ...], wraps_around: bool = True
) -> Float[Tensor, "tokens dimensions"]:
    """Return the mean of the coordinates of each token's patch of the grid."""
    cut = token_grid(tokens, grid)
    half_patch = [(points // cells - 1) / 2 / points for points, cells in zip(grid, cut, strict=True)]
    return coordinates(cut, wraps_around) + torch.tensor(half_patch) / (1 if wraps_around else 2)


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
