"""The loss terms of one task in one micro-batch; one decode serves every term that needs it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trainer.config.schema import LossConfig
from trainer.data.tasks.task import Task
from trainer.losses import terms
from trainer.losses.choices import Phase
from trainer.losses.queries import QueryPlan
from trainer.model.decoder import state_head, target_head
from trainer.model.latent_operator import LatentPdeOperator

BORDER_PLACES = 32  # per axis


@dataclass(frozen=True)
class Pairs:
    """The pairs of one task on their way through the model."""

    field: Float[Tensor, "pairs fields *grid"]
    next_field: Float[Tensor, "pairs targets *grid"]
    latent: Float[Tensor, "pairs tokens latent"]
    advanced: Float[Tensor, "pairs tokens latent"]
    queries: Int[Tensor, "pairs queries"]


class TaskTerms(nn.Module):
    """Has buffers only; the model is given at each call, since it belongs to the objective."""

    def __init__(self, task: Task, plan: QueryPlan, weights: LossConfig, inverse_every_nth_pair: int) -> None:
        super().__init__()
        self.task, self.plan, self.weights, self.nth = task, plan, weights, inverse_every_nth_pair
        reread = plan.reread()
        first = reread.choose(0, 0, torch.zeros(1, dtype=torch.long))[0]
        self.reread_grid = reread.lattice
        self.shares_places = False  # places that pairs have in common are embedded once
        if plan.lattice is not None:
            self.register_buffer("lattices", plan.lattices(), persistent=False)
        self.register_buffer("reread", first, persistent=False)
        self.register_buffer("border", _border(plan.grid), persistent=False)

    def forward(self, model: LatentPdeOperator, pairs: Pairs, phase: Phase) -> dict[str, Float[Tensor, ""]]:
        """Return the unweighted terms that have a weight and are due."""
        return {
            **self._of_prediction(model, pairs, phase),
            **self._of_latents(model, pairs),
            **(self._inverse(model, pairs) if phase.inverse else {}),
        }

    def _of_prediction(self, model: LatentPdeOperator, pairs: Pairs, phase: Phase) -> dict[str, Tensor]:
        weights, task, found = self.weights, self.task, {}
        borders = phase.priors and task.zero_border and weights.boundary > 0
        conserves = phase.priors and task.conserved and weights.conservation > 0
        positive = phase.priors and task.positive and weights.positivity > 0
        if not (weights.forward or weights.spectral or borders or conserves or positive):
            return found
        (places, spread), queries = self._places(model, pairs.queries), pairs.queries.shape[1]
        if borders:
            places = torch.cat([places, self.border.expand(len(places), -1, -1)], dim=1)
        decoded = model.decoder(target_head(task.name), pairs.advanced, places, spread)
        prediction, target = decoded[..., :queries], _at(pairs.next_field, pairs.queries)
        if weights.forward:
            found["forward"] = terms.forward_loss(prediction, target)
        if weights.spectral:
            regular = (-1, self.plan.lattice)
            found["spectral"] = terms.spectral_loss(
                prediction.unflatten(*regular), target.unflatten(*regular)
            )
        if borders:
            found["boundary"] = terms.boundary_loss(decoded[..., queries:])
        if conserves:
            found["conservation"] = terms.conservation_loss(prediction, _at(pairs.field, pairs.queries))
        if positive:
            found["positivity"] = terms.positivity_loss(prediction)
        return found

    def _of_latents(self, model: LatentPdeOperator, pairs: Pairs) -> dict[str, Tensor]:
        weights, found = self.weights, {}
        if weights.latent and not self.task.steady:  # what a steady task asks for is no state to encode
            with torch.no_grad():
                encoded_target = model.encoder(self.task.name, pairs.next_field)
            found["latent"] = terms.latent_loss(pairs.advanced, encoded_target)
        if weights.latent_norm:
            found["latent_norm"] = terms.latent_norm_loss(pairs.latent)
        if weights.diversity:
            found["diversity"] = terms.diversity_loss(pairs.latent)
        return found

    def _inverse(self, model: LatentPdeOperator, pairs: Pairs) -> dict[str, Tensor]:
        """On every n-th pair of a batch in random order: unbiased, and the same however a batch is cut."""
        weights, found = self.weights, {}
        if not (weights.inverse_encoding or weights.inverse_decoding):
            return found
        field, latent, queries = (
            pairs.field[:: self.nth],
            pairs.latent[:: self.nth],
            pairs.queries[:: self.nth],
        )
        if weights.inverse_decoding and self.plan.lattice is None:
            queries = self.reread.expand(len(field), -1)
        name = self.task.name
        decoded = model.decoder(state_head(name), latent, *self._places(model, queries))
        if weights.inverse_encoding:
            found["inverse_encoding"] = terms.inverse_encoding_loss(decoded, _at(field, queries))
        if weights.inverse_decoding:
            encoded_again = model.encoder(name, decoded.unflatten(-1, self.reread_grid))
            found["inverse_decoding"] = terms.inverse_decoding_loss(encoded_again, latent)
        return found

    def _places(
        self, model: LatentPdeOperator, queries: Int[Tensor, "pairs queries"]
    ) -> tuple[Float[Tensor, "rows queries dimensions"], Float[Tensor, "pairs rows"] | None]:
        """Places of each pair; or those of every position of a lattice, and which of them is each pair's."""
        places = model.places(self.task.name)
        if not self.shares_places:
            return places[queries], None
        if self.plan.positions == 1:
            return places[None], None
        spread = torch.nn.functional.one_hot(self.plan.position(queries), self.plan.positions)
        return places[self.lattices], spread.to(places.dtype)


def _at(
    field: Float[Tensor, "pairs fields *grid"], queries: Int[Tensor, "pairs queries"]
) -> Float[Tensor, "pairs fields queries"]:
    return field.flatten(2).gather(2, queries[:, None].expand(-1, field.shape[1], -1))


def _border(grid: tuple[int, ...]) -> Float[Tensor, "places dimensions"]:
    """Places half a cell outside the first centre; the far border has the same Fourier features."""
    along = torch.arange(BORDER_PLACES) / BORDER_PLACES
    axes = []
    for axis in range(len(grid)):
        places = along[:, None].repeat(1, len(grid))
        places[:, axis] = -0.5 / grid[axis]
        axes.append(places)
    return torch.cat(axes)
