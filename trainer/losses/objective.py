"""The weighted loss of one micro-batch; the module that DistributedDataParallel wraps."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trainer.config.schema import LossConfig
from trainer.data.batch import Batch
from trainer.losses.terms import forward_loss, inverse_encoding_loss, latent_loss, spectral_loss
from trainer.model.latent_operator import LatentPdeOperator


class Objective(nn.Module):
    """Terms of weight 0 are not computed; one decode serves every term that needs it."""

    def __init__(self, model: LatentPdeOperator, weights: LossConfig) -> None:
        super().__init__()
        self.model, self.weights = model, weights

    def forward(
        self, batch: Batch, branch_scale: Float[Tensor, "depth pairs"], queries: Int[Tensor, "pairs queries"]
    ) -> Float[Tensor, ""]:
        """queries: indices of the grid points to decode."""
        return sum(self.weighted_terms(batch, branch_scale, queries).values())

    def weighted_terms(
        self, batch: Batch, branch_scale: Float[Tensor, "depth pairs"], queries: Int[Tensor, "pairs queries"]
    ) -> dict[str, Float[Tensor, ""]]:
        model, weights = self.model, self.weights
        places = queries / model.points
        latent = model.encoder(batch.field)
        advanced = model.operator(latent, batch.condition, branch_scale)
        terms: dict[str, Tensor] = {}
        if weights.forward or weights.spectral:
            prediction, target = model.decoder(advanced, places), batch.next_field.gather(1, queries)
        if weights.forward:
            terms["forward"] = weights.forward * forward_loss(prediction, target)
        if weights.spectral:
            terms["spectral"] = weights.spectral * spectral_loss(prediction, target)
        if weights.latent:
            with torch.no_grad():
                encoded_target = model.encoder(batch.next_field)
            terms["latent"] = weights.latent * latent_loss(advanced, encoded_target)
        if weights.inverse_encoding:
            reconstruction = model.decoder(latent, places)
            terms["inverse_encoding"] = weights.inverse_encoding * inverse_encoding_loss(
                reconstruction, batch.field.gather(1, queries)
            )
        return terms
