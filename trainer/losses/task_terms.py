"""The loss terms of one task in one micro-batch."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from trainer.contracts.sections import AnyLoss
from trainer.contracts.task import Task
from trainer.contracts.term import Phase, Term
from trainer.losses.queries import QueryPlan
from trainer.losses.task_places import TaskPlaces
from trainer.losses.term_inputs import Pairs, TermInputs
from trainer.losses.terms import TERMS
from trainer.model.decoder import state_head, target_head
from trainer.model.latent_operator import LatentPdeOperator


class TaskTerms(TaskPlaces):
    """Those that have a weight."""

    def __init__(self, task: Task, plan: QueryPlan, weights: AnyLoss, inverse_every_nth_pair: int) -> None:
        super().__init__(task, plan, inverse_every_nth_pair)
        self.terms = tuple(
            term for term in TERMS.values() if getattr(weights, term.name) > 0 and term.of(task)
        )

    def forward(self, model: LatentPdeOperator, pairs: Pairs, phase: Phase) -> dict[str, Float[Tensor, ""]]:
        """Return the unweighted terms that have a weight and are due."""
        due = self._due(phase)
        inputs = TermInputs(self, model, pairs, {name for term in due for name in term.inputs})
        return {term.name: term.loss(*[inputs.tensor(name) for name in term.inputs]) for term in due}

    def heads(self, phase: Phase) -> set[str]:
        """The heads of the decoder that are used."""
        due = self._due(phase)
        return {
            *(target_head(self.task.name) for term in due if term.decodes_prediction),
            *(state_head(self.task.name) for term in due if term.group == "inverse"),
        }

    def _due(self, phase: Phase) -> list[Term]:
        return [term for term in self.terms if term.is_due(phase)]
