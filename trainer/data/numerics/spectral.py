"""Diffusion by three- and five-point Laplacians, exact in time: on a circle, and between walls."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def diffused_on_circle(field: Tensor, coefficient: float, seconds: float, spacing: float) -> Tensor:
    """Solve u_t = coefficient u_xx for so many seconds, periodic in the last axis.

    Of the three-point Laplacian, whose flow makes no new extremes, as that of a cut Fourier series would.
    """
    points = field.shape[-1]
    number = torch.arange(points // 2 + 1, dtype=field.dtype, device=field.device)
    decay = torch.exp(-coefficient * seconds * (2 / spacing * torch.sin(math.pi * number / points)) ** 2)
    return torch.fft.irfft(torch.fft.rfft(field) * decay, n=points)


class Cosines:
    """The eigenvectors of the three-point Laplacian of cells between walls that nothing passes."""

    def __init__(self, points: int, spacing: float, like: Tensor) -> None:
        number = torch.arange(points, dtype=like.dtype, device=like.device)
        cosines = torch.cos(math.pi * number[:, None] * (number + 0.5) / points)
        self.basis = cosines / cosines.norm(dim=1, keepdim=True)  # (wave number, cell)
        self.eigenvalue = -((2 / spacing * torch.sin(math.pi * number / (2 * points))) ** 2)

    def diffused(self, field: Tensor, coefficient: float | Tensor, seconds: float) -> Tensor:
        """Solve u_t = coefficient (u_xx + u_yy) for so many seconds, on a square (..., X, Y)."""
        decay = torch.exp(coefficient * seconds * (self.eigenvalue[:, None] + self.eigenvalue))
        return self.applied(field, decay)

    def poisson(self, field: Tensor) -> Tensor:
        """Return the u of mean 0 with u_xx + u_yy = field, whose mean must be 0, on a square (..., X, Y)."""
        total = self.eigenvalue[:, None] + self.eigenvalue
        return self.applied(field, torch.where(total < 0, 1 / total, 0))

    def applied(self, field: Tensor, factor: Tensor) -> Tensor:
        """Multiply the modes of a square (..., X, Y) with a factor each."""
        return self.basis.T @ (factor * (self.basis @ field @ self.basis.T)) @ self.basis
