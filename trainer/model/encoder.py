"""Grids to latent tokens: a stem for the fields of each task, one projection for all."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.contracts.sections import ModelConfig
from trainer.data.tasks import TASKS
from trainer.model.coordinates import FourierFeatures, coordinates
from trainer.model.token_grid import Grids, token_grid


class PatchStem(nn.Module):
    """Patches of every field and the Fourier features of their places, embedded.

    Linear in the patch, so that it is the sum of one stem per field.
    """

    def __init__(
        self, config: ModelConfig, fields: int, grid: tuple[int, ...], wraps_around: bool = True
    ) -> None:
        super().__init__()
        self.grid, self.cut = grid, token_grid(config.tokens, grid)
        places = coordinates(self.cut, wraps_around)
        position = FourierFeatures(config.position_frequencies, len(grid))(places)
        self.register_buffer("position", position, persistent=False)
        patch = fields * math.prod(grid) // config.tokens
        self.embed = nn.Linear(patch + position.shape[-1], config.hidden_dim)

    def forward(self, field: Float[Tensor, "pairs fields *grid"]) -> Float[Tensor, "pairs tokens hidden"]:
        """A field on every n-th point of the grid is read at the scale of the same patches."""
        patches = self._patches(self._on_grid(field))
        position = self.position.to(patches.dtype).expand(len(patches), -1, -1)
        return self.embed(torch.cat([patches, position], dim=-1))

    def _on_grid(self, field: Tensor) -> Tensor:
        for axis, points in enumerate(self.grid, start=2):
            if field.shape[axis] != points:
                field = field.repeat_interleave(points // field.shape[axis], dim=axis)
        return field

    def _patches(self, field: Tensor) -> Tensor:
        if len(self.cut) == 1:
            return field.unflatten(2, (self.cut[0], -1)).transpose(1, 2).flatten(2)
        rows, columns = self.cut
        cells = field.unflatten(3, (columns, -1)).unflatten(
            2, (rows, -1)
        )  # pairs, fields, rows, y, columns, x
        return cells.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class GridEncoder(nn.Module):
    def __init__(self, config: ModelConfig, grids: Grids) -> None:
        super().__init__()
        self.stems = nn.ModuleDict(
            {
                name: PatchStem(config, len(TASKS[name].given), grid, TASKS[name].wraps_around)
                for name, grid in grids.items()
            }
        )
        self.project = nn.Linear(config.hidden_dim, config.latent_dim)

    def forward(
        self, task: str, field: Float[Tensor, "pairs fields *grid"]
    ) -> Float[Tensor, "pairs tokens latent"]:
        return self.project(nn.functional.gelu(self.stems[task](field)))
