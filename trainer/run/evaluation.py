"""The held-out split: one-step errors in fp32 by plain eager code, whatever the training runs with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trainer.config.schema import Config
from trainer.data.batch import Batch
from trainer.data.paths import MappedPairs
from trainer.model.latent_operator import LatentPdeOperator
from trainer.run.world import World


@dataclass(frozen=True)
class HeldOutErrors:
    """Means over all held-out pairs; *_loss are mean squared errors in normalised units."""

    val_loss: float
    persistence_loss: float  # of predicting no change
    nrmse: float  # mean over pairs of |error| / |u| in physical units


class Evaluator:
    """Has a model of its own, never compiled nor wrapped, into which weights are copied."""

    def __init__(self, config: Config, pairs: MappedPairs, world: World) -> None:
        self.pairs, self.world = pairs, world
        self.batch_pairs = config.evaluation.batch_pairs
        with torch.random.fork_rng(devices=[]):
            self.model = LatentPdeOperator(config).to(world.device).eval()

    @torch.no_grad()
    def errors(self, weights: dict[str, Tensor]) -> HeldOutErrors:
        """Return the errors of these weights; every rank takes its share of the pairs."""
        self.model.load_state_dict(weights)
        sums = torch.zeros(4, dtype=torch.float64, device=self.world.device)
        mine = np.arange(self.world.rank, len(self.pairs.table), self.world.size)
        for first in range(0, len(mine), self.batch_pairs):
            sums += self._sums(self.pairs.read(mine[first : first + self.batch_pairs]).to(self.world.device))
        loss, persistence, nrmse, count = self.world.gather(sums).sum(dim=0).tolist()
        return HeldOutErrors(loss / count, persistence / count, nrmse / count)

    def _sums(self, batch: Batch) -> Tensor:
        prediction = self.model(batch.field, batch.condition)
        error = (prediction - batch.next_field).double()
        change = (batch.field - batch.next_field).double()
        normalisation = self.pairs.normalisation
        physical = batch.next_field.double() / normalisation.field_scale + normalisation.field_mean
        relative = error.norm(dim=1) / normalisation.field_scale / physical.norm(dim=1).clamp_min(1e-12)
        parts = [error.square().mean(dim=1).sum(), change.square().mean(dim=1).sum(), relative.sum()]
        return torch.stack([*parts, parts[0].new_tensor(len(batch.pair))])
