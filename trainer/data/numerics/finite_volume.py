"""Conservative finite volumes: values at faces by limited slopes, and the change that fluxes make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

Border = Literal["periodic", "open"]  # open: what is outside equals the outermost cell, so waves leave

CFL = 0.4  # cells that the fastest wave may pass in a step


def largest_step(speed: Tensor, spacing: float) -> float:
    """Seconds in which waves of this speed pass CFL cells."""
    return CFL * spacing / max(1e-9, float(speed))


def padded(values: Tensor, cells: int, border: Border) -> Tensor:
    """Values with so many cells more at both ends of the last axis."""
    if border == "periodic":
        return torch.cat([values[..., -cells:], values, values[..., :cells]], dim=-1)
    ends = [values[..., place].expand(*values.shape[:-1], cells) for place in (slice(0, 1), slice(-1, None))]
    return torch.cat([ends[0], values, ends[1]], dim=-1)


def at_faces(values: Tensor, border: Border) -> tuple[Tensor, Tensor]:
    """Values on the left and on the right of each face of the last axis, one face more than cells.

    Linear in each cell, with the slope of the monotonised central limiter (van Leer 1977): of second order
    where fields are smooth, and without new extremes.
    """
    wide = padded(values, 2, border)
    step = wide.diff(dim=-1)
    slope = _limited(step[..., :-1], step[..., 1:])
    cells = wide[..., 1:-1]
    return (cells + slope / 2)[..., :-1], (cells - slope / 2)[..., 1:]


def _limited(left: Tensor, right: Tensor) -> Tensor:
    size = torch.minimum(torch.minimum(left.abs(), right.abs()) * 2, (left + right).abs() / 2)
    return torch.where(left * right > 0, size * left.sign(), 0)


def change_of_system(
    cells: Tensor, flux: Callable[[Tensor, Tensor, int], Tensor], spacing: float, border: Border
) -> Tensor:
    """Change per second of all conserved fields (n, fields, *grid), by the flux across every axis.

    `cells` are the fields that are linear in each cell. `flux` is given those on both sides of the faces,
    (n, fields, ..., faces), and the number of the axis that the faces lie across.
    """
    change = torch.zeros_like(cells)
    for number in range(cells.ndim - 2):
        axis = number + 2
        left, right = at_faces(cells.movedim(axis, -1), border)
        change += change_by(flux(left, right, number), spacing).movedim(-1, axis)
    return change


def change_by(flux: Tensor, spacing: float) -> Tensor:
    """Change per second of the cells between the faces of the last axis."""
    return -flux.diff(dim=-1) / spacing
