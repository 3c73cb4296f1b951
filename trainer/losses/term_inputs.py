"""What a term of the loss may compare, by name: made when first asked for, once for all that ask."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trainer.contracts.term import OF_A_DECODED_PREDICTION, OF_A_RECONSTRUCTION
from trainer.losses.task_places import TaskPlaces
from trainer.model.decoder import state_head, target_head
from trainer.model.latent_operator import LatentPdeOperator


@dataclass(frozen=True)
class Pairs:
    """The pairs of one task on their way through the model."""

    field: Float[Tensor, "pairs fields *grid"]
    next_field: Float[Tensor, "pairs targets *grid"]
    latent: Float[Tensor, "pairs tokens latent"]
    advanced: Float[Tensor, "pairs tokens latent"]
    queries: Int[Tensor, "pairs queries"]


class TermInputs:
    """Each public method but `tensor` is an input that a term can name."""

    def __init__(self, part: TaskPlaces, model: LatentPdeOperator, pairs: Pairs, asked: Set[str]) -> None:
        self._part, self._model, self._pairs, self._asked = part, model, pairs, asked
        self._made: dict[str, Tensor] = {}
        # Where both are asked for, at the same places of a pair.
        asks_for_both = not any(map(asked.isdisjoint, (OF_A_DECODED_PREDICTION, OF_A_RECONSTRUCTION)))
        self._decodes_jointly = part.decodes_jointly and asks_for_both

    def tensor(self, name: str) -> Tensor:
        if name not in self._made:
            self._made[name] = getattr(self, name)()
        return self._made[name]

    def prediction(self) -> Float[Tensor, "pairs targets queries"]:
        """Decoded prediction of u(t + dt) at the queries."""
        return self.tensor("_decoded_prediction")[..., : self._pairs.queries.shape[1]]

    def prediction_on_grid(self) -> Float[Tensor, "pairs targets *grid"]:
        """The same where the queries are a regular grid."""
        return self._on_grid("prediction")

    def border(self) -> Float[Tensor, "pairs targets places"]:
        """Decoded prediction on the border."""
        return self.tensor("_decoded_prediction")[..., self._pairs.queries.shape[1] :]

    def target(self) -> Float[Tensor, "pairs targets queries"]:
        """u(t + dt) at the queries."""
        return _at(self._pairs.next_field, self._pairs.queries)

    def target_on_grid(self) -> Float[Tensor, "pairs targets *grid"]:
        return self._on_grid("target")

    def field(self) -> Float[Tensor, "pairs fields queries"]:
        """u(t) at the queries, without static fields."""
        task = self._part.task
        field = self._pairs.field[:, : len(task.state)] if task.statics else self._pairs.field
        return _at(field, self._pairs.queries)

    def field_on_grid(self) -> Float[Tensor, "pairs fields *grid"]:
        return self._on_grid("field")

    def latent(self) -> Float[Tensor, "pairs tokens latent"]:
        """Encoding of u(t)."""
        return self._pairs.latent

    def advanced(self) -> Float[Tensor, "pairs tokens latent"]:
        """Latents after the operator."""
        return self._pairs.advanced

    def encoded_target(self) -> Float[Tensor, "pairs tokens latent"]:
        """Encoding of u(t + dt), without gradient."""
        with torch.no_grad():
            task, given = self._part.task, self._pairs.next_field
            if task.statics:
                given = torch.cat([given, self._pairs.field[:, len(task.state) :]], dim=1)
            return self._model.encoder(task.name, given)

    def reconstruction(self) -> Float[Tensor, "some fields queries"]:
        """Decoded encoding of the pairs that have inverse terms."""
        queries = self.tensor("_inverse_queries")
        if self._decodes_jointly:
            fields = self._pairs.field.shape[1]
            return self.tensor("_decoded_jointly")[len(self._pairs.queries) :, -fields:, : queries.shape[1]]
        places = self._part.places(self._model, queries)
        return self._model.decoder([state_head(self._part.task.name)], self.tensor("encoded_once"), *places)

    def reconstructed(self) -> Float[Tensor, "some fields queries"]:
        """u(t) of these pairs at the same places."""
        return _at(self._pairs.field[:: self._part.nth], self.tensor("_inverse_queries"))

    def encoded_once(self) -> Float[Tensor, "some tokens latent"]:
        """Encoding of u(t) of these pairs."""
        return self._pairs.latent[:: self._part.nth]

    def encoded_again(self) -> Float[Tensor, "some tokens latent"]:
        """Encoding of the decoded encoding."""
        whole = self.tensor("reconstruction").unflatten(-1, self._part.reread_grid)
        return self._model.encoder(self._part.task.name, whole)

    def _decoded_prediction(self) -> Float[Tensor, "pairs targets places"]:
        """At the queries, and behind them on the border if a term asks for it."""
        if self._decodes_jointly:
            fields = self._pairs.next_field.shape[1]
            return self.tensor("_decoded_jointly")[: len(self._pairs.queries), :fields]
        places, spread = self._places_with_border(self._pairs.queries)
        return self._model.decoder([target_head(self._part.task.name)], self._pairs.advanced, places, spread)

    def _decoded_jointly(self) -> Float[Tensor, "pairs_and_some fields places"]:
        """Predictions, and behind them reconstructions; fields are of both heads where a task has two."""
        name, latent = self._part.task.name, [self._pairs.advanced, self.tensor("encoded_once")]
        heads = list(dict.fromkeys([target_head(name), state_head(name)]))
        places, spread = self._places_with_border(
            torch.cat([self._pairs.queries, self.tensor("_inverse_queries")])
        )
        return self._model.decoder(heads, torch.cat(latent), places, spread)

    def _places_with_border(
        self, queries: Int[Tensor, "pairs queries"]
    ) -> tuple[Float[Tensor, "rows places dimensions"], Float[Tensor, "pairs rows"] | None]:
        places, spread = self._part.places(self._model, queries)
        if "border" in self._asked:
            places = torch.cat([places, self._part.border.expand(len(places), -1, -1)], dim=1)
        return places, spread

    def _inverse_queries(self) -> Int[Tensor, "some queries"]:
        """On every n-th pair of a batch in random order: unbiased, and the same however a batch is cut."""
        queries = self._pairs.queries[:: self._part.nth]
        if "encoded_again" in self._asked and self._part.plan.lattice is None:
            return self._part.reread.expand(len(queries), -1)
        return queries

    def _on_grid(self, name: str) -> Tensor:
        return self.tensor(name).unflatten(-1, self._part.plan.lattice)


def _at(
    field: Float[Tensor, "pairs fields *grid"], queries: Int[Tensor, "pairs queries"]
) -> Float[Tensor, "pairs fields queries"]:
    return field.flatten(2).gather(2, queries[:, None].expand(-1, field.shape[1], -1))
