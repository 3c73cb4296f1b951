"""Grid to latent tokens."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.config.schema import ModelConfig
from trainer.model.fourier import FourierFeatures, regular_grid


class GridEncoder(nn.Module):
    """Patches along x, each with the Fourier features of its position, projected to one latent token."""

    def __init__(self, config: ModelConfig, points: int) -> None:
        super().__init__()
        tokens = points // config.patch_points
        position = FourierFeatures(config.position_frequencies)(regular_grid(tokens))
        self.patch_points = config.patch_points
        self.register_buffer("position", position, persistent=False)
        self.embed = nn.Linear(config.patch_points + position.shape[-1], config.hidden_dim)
        self.project = nn.Linear(config.hidden_dim, config.latent_dim)

    def forward(self, field: Float[Tensor, "pairs points"]) -> Float[Tensor, "pairs tokens latent"]:
        patches = field.unflatten(1, (-1, self.patch_points))
        position = self.position.to(field.dtype).expand(len(field), -1, -1)
        return self.project(nn.functional.gelu(self.embed(torch.cat([patches, position], dim=-1))))
