"""Compressible flow of an ideal gas, in one or two dimensions: the equations of Navier and Stokes.

rho_t + div (rho v) = 0, (rho v)_t + div (rho v v + p) = div s, E_t + div ((E + p) v) = div (v s), where the
stress s = eta (grad v + its transpose - 2/3 div v) + zeta div v and E = p / (gamma - 1) + rho v^2 / 2. No
heat flows. The flux of Toro's HLLC on limited slopes, the stress in stages that are stable in long steps.

Fields are (n, 2 + dimensions, *grid): density, pressure, velocities; held are density, energy, momenta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainer.data.numerics import finite_volume
from trainer.data.numerics.finite_volume import Border, padded
from trainer.data.numerics.stepping import frames_at, rkl2, ssp_rk3, strang
from trainer.data.physics_scores import GAMMA


@dataclass(frozen=True)
class Gas:
    eta: float  # of shear
    zeta: float  # of volume
    border: Border
    spacing: float  # the same along every axis

    def frames(self, start: Tensor, times: np.ndarray) -> Iterator[Tensor]:
        """Yield the fields at each time, from their start at cell centres."""
        split = strang(self._stressed, lambda held, seconds: ssp_rk3(self._carried, held, seconds))

        def step(held: Tensor, seconds: float) -> Tensor:
            if seconds > self._largest_explicit(held) / 2:
                return split(held, seconds)
            return ssp_rk3(lambda now: self._carried(now) + self._change_by_stress(now), held, seconds)

        return (fields_of(held) for held in frames_at(times, held_by(start), step, self._largest_step))

    def _carried(self, held: Tensor) -> Tensor:
        return finite_volume.change_of_system(fields_of(held), hllc, self.spacing, self.border)

    def _largest_step(self, held: Tensor) -> float:
        fields = fields_of(held)
        speed = fields[:, 2:].abs().amax(dim=1) + sound(fields)
        return finite_volume.largest_step(speed.max(), self.spacing)

    def _stressed(self, held: Tensor, seconds: float) -> Tensor:
        """Let the stress act; the density stays."""
        return rkl2(self._change_by_stress, held, seconds, self._largest_explicit(held))

    def _largest_explicit(self, held: Tensor) -> float:
        """Forward Euler's largest stable step for the stress."""
        stiffness = (4 / 3 * self.eta + self.zeta) / float(held[:, 0].min())
        return self.spacing**2 / (2 * (held.ndim - 2) * stiffness)

    def _change_by_stress(self, held: Tensor) -> Tensor:
        velocity = fields_of(held)[:, 2:]
        change = torch.zeros_like(held)
        for axis in range(velocity.shape[1]):
            at_faces, stress = self._stress(velocity, axis)
            work = (at_faces * stress).sum(dim=1, keepdim=True)
            flux = -torch.cat([work, stress], dim=1)
            change[:, 1:] += finite_volume.change_by(flux, self.spacing).movedim(-1, axis + 2)
        return change

    def _stress(self, velocity: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """Velocity and stress (n, dimensions, ..., faces) at the faces across an axis, which is the last."""
        cells = padded(velocity.movedim(axis + 2, -1), 1, self.border)
        at_faces = (cells[..., :-1] + cells[..., 1:]) / 2
        across = cells.diff(dim=-1) / self.spacing  # of each velocity along the axis
        stress, divergence = self.eta * across, across[:, axis]
        stress[:, axis] += self.eta * across[:, axis]
        if velocity.shape[1] == 2:
            other = 1 - axis
            wide = padded(at_faces.movedim(2, -1), 1, self.border)  # the other axis is now the last
            along = ((wide[..., 2:] - wide[..., :-2]) / (2 * self.spacing)).movedim(-1, 2)
            stress[:, other] += self.eta * along[:, axis]
            divergence = divergence + along[:, other]
        stress[:, axis] += (self.zeta - 2 / 3 * self.eta) * divergence
        return at_faces, stress


def fields_of(held: Tensor) -> Tensor:
    density, energy, momentum = held[:, :1], held[:, 1:2], held[:, 2:]
    velocity = momentum / density
    pressure = (GAMMA - 1) * (energy - (momentum * velocity).sum(dim=1, keepdim=True) / 2)
    return torch.cat([density, pressure, velocity], dim=1)


def held_by(fields: Tensor) -> Tensor:
    density, pressure, velocity = fields[:, :1], fields[:, 1:2], fields[:, 2:]
    energy = pressure / (GAMMA - 1) + density * velocity.square().sum(dim=1, keepdim=True) / 2
    return torch.cat([density, energy, density * velocity], dim=1)


def sound(fields: Tensor) -> Tensor:
    """The speed of sound, (n, *grid)."""
    return (GAMMA * fields[:, 1] / fields[:, 0]).sqrt()


def hllc(left: Tensor, right: Tensor, axis: int) -> Tensor:
    """Return Toro's HLLC flux between fields on both sides of faces (n, 2 + dimensions, ..., faces)."""
    speed = [side[:, 2 + axis] for side in (left, right)]
    waves = [sound(side) for side in (left, right)]
    slowest = torch.minimum(speed[0] - waves[0], speed[1] - waves[1])
    fastest = torch.maximum(speed[0] + waves[0], speed[1] + waves[1])
    masses = [left[:, 0] * (slowest - speed[0]), right[:, 0] * (fastest - speed[1])]
    contact = right[:, 1] - left[:, 1] + speed[0] * masses[0] - speed[1] * masses[1]
    contact = contact / (masses[0] - masses[1])
    behind_left = _flux_behind(left, axis, slowest, contact, masses[0])
    behind_right = _flux_behind(right, axis, fastest, contact, masses[1])
    between = torch.where((contact >= 0)[:, None], behind_left, behind_right)
    whole = torch.where((slowest >= 0)[:, None], _flux(left, axis), between)
    return torch.where((fastest <= 0)[:, None], _flux(right, axis), whole)


def _flux(fields: Tensor, axis: int) -> Tensor:
    speed, pressure = fields[:, 2 + axis], fields[:, 1]
    flux = held_by(fields) * speed[:, None]
    flux[:, 1] += pressure * speed
    flux[:, 2 + axis] += pressure
    return flux


def _flux_behind(fields: Tensor, axis: int, wave: Tensor, contact: Tensor, mass: Tensor) -> Tensor:
    """The flux between a wave and the contact; `mass` is what crosses the wave per second."""
    held, speed = held_by(fields), fields[:, 2 + axis]
    density = mass / (wave - contact)
    gained = (contact - speed) * (contact + fields[:, 1] / mass)
    behind = density[:, None] * torch.cat(
        [torch.ones_like(held[:, :1]), (held[:, 1] / held[:, 0] + gained)[:, None], fields[:, 2:]], dim=1
    )
    behind[:, 2 + axis] = density * contact
    return _flux(fields, axis) + wave[:, None] * (behind - held)
