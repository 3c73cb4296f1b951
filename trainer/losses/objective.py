"""The weighted loss of one micro-batch; the module that is wrapped for several ranks."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.contracts.sections import AnyLoss, RecipeConfig
from trainer.contracts.term import Phase
from trainer.data.batches.batch import Batch
from trainer.data.tasks import TASKS
from trainer.losses.choices import StepInputs, query_plans
from trainer.losses.task_terms import TaskTerms
from trainer.losses.term_inputs import Pairs, TermInputs
from trainer.losses.terms import TERMS
from trainer.model.latent_operator import LatentPdeOperator


class Objective(nn.Module):
    """Terms of weight 0 are not computed.

    A term sums over its tasks, each with its share of the batch's pairs; tasks that lack it count as 0.
    """

    def __init__(self, model: LatentPdeOperator, weights: AnyLoss, recipe: RecipeConfig) -> None:
        super().__init__()
        for term in TERMS.values():
            if unknown := [name for name in term.inputs if not hasattr(TermInputs, name)]:
                raise TypeError(
                    f'trainer/losses/terms: "{term.name}" has the input "{unknown[0]}", '
                    "expected one of trainer/losses/term_inputs.py"
                )
        self.model, self.weights = model, weights
        self.tasks = nn.ModuleList(
            TaskTerms(TASKS[name], plan, weights, recipe.inverse_every_nth_pair)
            for name, plan in zip(model.grids, query_plans(model.grids, recipe), strict=True)
        )

    def forward(self, batch: Batch, inputs: StepInputs, phase: Phase) -> Float[Tensor, ""]:
        loss = sum(self.weighted_terms(batch, inputs, phase).values())
        # Wrappers wait for a gradient of every parameter, so those that no term reaches get one of 0.
        return loss + sum(parameter.sum() * 0.0 for parameter in self._idle(phase))

    def weighted_terms(self, batch: Batch, inputs: StepInputs, phase: Phase) -> dict[str, Float[Tensor, ""]]:
        model, sizes = self.model, [len(field) for field in batch.fields]
        names = [part.task.name for part in self.tasks]
        latent = torch.cat(
            [model.encoder(name, field) for name, field in zip(names, batch.fields, strict=True)]
        )
        advanced = model.operator(latent, batch.condition, inputs.branch_scale)
        latents, advanceds = latent.split(sizes), advanced.split(sizes)
        weighted: dict[str, Tensor] = {}
        for index, part in enumerate(self.tasks):
            pairs = Pairs(
                batch.fields[index],
                batch.next_fields[index],
                latents[index],
                advanceds[index],
                inputs.queries[index],
            )
            for name, value in part(model, pairs, phase).items():
                weight = getattr(self.weights, name) * sizes[index] / sum(sizes)
                term = weight * (value * inputs.ramp if TERMS[name].group == "inverse" else value)
                weighted[name] = weighted[name] + term if name in weighted else term
        return weighted

    def _idle(self, phase: Phase) -> list[nn.Parameter]:
        """Parameters that no term of this phase reaches."""
        used = {head for part in self.tasks for head in part.heads(phase)}
        decoder = self.model.decoder
        if not used:
            return [parameter for parameter in decoder.parameters() if parameter.requires_grad]
        idle = [head for name, head in decoder.heads.items() if name not in used]
        return [parameter for head in idle for parameter in head.parameters()]
