"""Incompressible flow in a closed square box, and particles that it carries.

v_t + div (v v) = -grad p + nu laplace v + force with div v = 0, and c_t + div (c v) = 0. On the staggered
grid of Harlow and Welch: c in cells, velocities on faces. Every change of the velocity is projected onto
those without divergence, exactly, by cosines.

States are (n, 3, X, Y): c, and the velocities on the lower faces of each cell; those on the walls are 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from trainer.data.numerics import finite_volume
from trainer.data.numerics.spectral import Cosines
from trainer.data.numerics.stepping import frames_at, rkl2, ssp_rk3, strang

X, Y = -2, -1  # axes
LARGEST_STEP = 0.02  # seconds, for a force on fluid at rest


class BoxFlow:
    def __init__(self, viscosity: float, force: Tensor, slips: bool) -> None:
        """`force` is (n, 2, X, Y) in cells; fluid that slips along walls feels no friction there."""
        self.viscosity, self.slips = viscosity, slips
        self.spacing = 1 / force.shape[-1]
        self.cosines = Cosines(force.shape[-1], self.spacing, force)
        self.force = torch.stack([_on_faces(force[:, 0], X), _on_faces(force[:, 1], Y)], dim=1)

    def frames(self, start: Tensor, times: np.ndarray) -> Iterator[Tensor]:
        """Yield the state at each time."""
        step = strang(self._rubbed, lambda state, seconds: ssp_rk3(self._carried, state, seconds))
        return frames_at(times, start, step, self._largest_step)

    def _largest_step(self, state: Tensor) -> float:
        speed = state[:, 1:].abs().flatten(2).amax(dim=2).sum(dim=1).max()
        return min(LARGEST_STEP, finite_volume.largest_step(speed, self.spacing))

    def _rubbed(self, state: Tensor, seconds: float) -> Tensor:
        """Let the viscosity act."""

        def rate(velocity: Tensor) -> Tensor:
            u, v = velocity.unbind(dim=1)
            change = torch.stack([self._laplacian(u, X), self._laplacian(v, Y)], dim=1)
            return self._projected(self.viscosity * change)

        largest_explicit = self.spacing**2 / (4 * self.viscosity)
        velocity = rkl2(rate, state[:, 1:], seconds, largest_explicit)
        return torch.cat([state[:, :1], velocity], dim=1)

    def _carried(self, state: Tensor) -> Tensor:
        """Change per second by the flow itself and the force."""
        c, u, v = state.unbind(dim=1)
        # Momentum of each direction through cells, and through corners, of which those on walls have none.
        through_x, through_y = (((f + _next(f, axis)) / 2) ** 2 for f, axis in ((u, X), (v, Y)))
        corner = _on_faces(u, Y) * _on_faces(v, X)
        change_u = _slope(through_x, X) + _next(corner, Y) - corner
        change_v = _slope(through_y, Y) + _next(corner, X) - corner
        velocity = self._projected(self.force - torch.stack([change_u, change_v], dim=1) / self.spacing)
        carried = self._particles(c, u, X) + self._particles(c, v, Y)
        return torch.cat([carried[:, None], velocity], dim=1)

    def _particles(self, c: Tensor, speed: Tensor, axis: int) -> Tensor:
        left, right = finite_volume.at_faces(c.movedim(axis, -1), "open")
        moving = pad(speed.movedim(axis, -1), (0, 1))  # 0 on the far wall
        flux = moving * torch.where(moving > 0, left, right)
        return finite_volume.change_by(flux, self.spacing).movedim(-1, axis)

    def _laplacian(self, f: Tensor, normal: int) -> Tensor:
        """Of the velocity normal to the faces across an axis; it is 0 on these walls."""
        along = X + Y - normal
        lines = f.movedim(along, -1)
        outside = 1 if self.slips else -1  # what lies half a cell behind a wall
        wide = torch.cat([outside * lines[..., :1], lines, outside * lines[..., -1:]], dim=-1)
        across = (wide[..., 2:] - 2 * lines + wide[..., :-2]).movedim(-1, along)
        total = (across + _next(f, normal) - 2 * f + _previous(f, normal)) / self.spacing**2
        return _without_wall(total, normal)

    def _projected(self, velocity: Tensor) -> Tensor:
        """The velocity without what has divergence."""
        u, v = velocity.unbind(dim=1)
        divergence = (_next(u, X) - u + _next(v, Y) - v) / self.spacing
        pressure = self.cosines.poisson(divergence)
        return torch.stack(
            [u - _slope(pressure, X) / self.spacing, v - _slope(pressure, Y) / self.spacing], dim=1
        )


def in_cells(state: Tensor) -> Tensor:
    """c and both velocities at cell centres, (n, X, Y, 3)."""
    c, u, v = state.unbind(dim=1)
    return torch.stack([c, (u + _next(u, X)) / 2, (v + _next(v, Y)) / 2], dim=-1)


def velocity_of(stream: np.ndarray) -> np.ndarray:
    """Velocities on faces (n, 2, X, Y) of a stream function at corners (n, X + 1, Y + 1), 0 on the walls."""
    points = stream.shape[-1] - 1
    u = np.diff(stream, axis=2)[:, :-1] * points
    v = -np.diff(stream, axis=1)[:, :, :-1] * points
    return np.stack([u, v], axis=1)


def _next(f: Tensor, axis: int) -> Tensor:
    """Of each place the value one further on; behind the last one is a wall with 0."""
    return pad(f.movedim(axis, -1)[..., 1:], (0, 1)).movedim(-1, axis)


def _previous(f: Tensor, axis: int) -> Tensor:
    return pad(f.movedim(axis, -1)[..., :-1], (1, 0)).movedim(-1, axis)


def _without_wall(f: Tensor, axis: int) -> Tensor:
    """0 on the wall, which is the first place."""
    return pad(f.movedim(axis, -1)[..., 1:], (1, 0)).movedim(-1, axis)


def _slope(f: Tensor, axis: int) -> Tensor:
    """From cell to cell, on the faces between them; 0 on the wall."""
    return _without_wall(f - _previous(f, axis), axis)


def _on_faces(f: Tensor, axis: int) -> Tensor:
    """Means of neighbours, on the faces between them; 0 on the wall."""
    return _without_wall((f + _previous(f, axis)) / 2, axis)
