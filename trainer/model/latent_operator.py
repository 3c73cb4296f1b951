"""The whole model: encode a field, advance it by dt, decode it at any points."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.contracts.sections import ModelConfig
from trainer.data.conditions import condition_size
from trainer.data.tasks import TASKS
from trainer.model.coordinates import coordinates
from trainer.model.decoder import AnyPointDecoder, target_head
from trainer.model.encoder import GridEncoder
from trainer.model.operator import LatentOperator
from trainer.model.token_grid import Grids


class LatentPdeOperator(nn.Module):
    def __init__(self, config: ModelConfig, grids: Grids) -> None:
        super().__init__()
        self.grids = grids
        self.encoder = GridEncoder(config, grids)
        self.operator = LatentOperator(config, condition_size(tuple(grids)))
        self.decoder = AnyPointDecoder(config, grids)
        if config.trained == "operator":
            self.encoder.requires_grad_(False)
            self.decoder.requires_grad_(False)
        for task, grid in self.grids.items():
            places = coordinates(grid, TASKS[task].wraps_around)
            self.register_buffer(f"places_{task}", places, persistent=False)

    def places(self, task: str) -> Float[Tensor, "points dimensions"]:
        """Coordinates of the task's whole grid, in the order of its flattened fields."""
        return self.get_buffer(f"places_{task}")

    def forward(
        self,
        task: str,
        field: Float[Tensor, "pairs fields *grid"],
        condition: Float[Tensor, "pairs conditions"],
    ) -> Float[Tensor, "pairs targets *grid"]:
        """Return the field one dt later on the whole grid, without drop path: what evaluation asks for."""
        keep_all = torch.ones(len(self.operator.blocks), len(field), device=field.device)
        latent = self.operator(self.encoder(task, field), condition, keep_all)
        places = self.places(task).expand(len(field), -1, -1)
        return self.decoder([target_head(task)], latent, places).unflatten(2, self.grids[task])


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
