"""The whole model: encode a field, advance it by dt, decode it at any points."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.config.schema import Config
from trainer.data.normalisation import CONDITIONS
from trainer.model.decoder import AnyPointDecoder
from trainer.model.encoder import GridEncoder
from trainer.model.fourier import regular_grid
from trainer.model.operator import LatentOperator


class LatentPdeOperator(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.points = config.reduced_points
        self.encoder = GridEncoder(config.model, self.points)
        self.operator = LatentOperator(config.model, CONDITIONS)
        self.decoder = AnyPointDecoder(config.model)

    def forward(
        self, field: Float[Tensor, "pairs points"], condition: Float[Tensor, "pairs conditions"]
    ) -> Float[Tensor, "pairs points"]:
        """Return the field one dt later on the whole grid, without drop path: what evaluation asks for."""
        keep_all = torch.ones(len(self.operator.blocks), len(field), device=field.device)
        latent = self.operator(self.encoder(field), condition, keep_all)
        return self.decoder(latent, regular_grid(self.points, field.device).expand(len(field), -1))


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
