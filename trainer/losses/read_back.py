"""What work a step does, asked of what decides it: recipes differ here, not in how it is computed."""

from __future__ import annotations

import math

from trainer.contracts.term import EVERYTHING
from trainer.data.batches.batch import part_sizes
from trainer.data.batches.update_cut import UpdateCut
from trainer.losses.choices import StepChoices
from trainer.losses.objective import Objective
from trainer.losses.task_terms import TaskTerms

# What run_start declares as work. Who adds a key here has it compared between the variants of same work.
WORK_KEYS = ("decoded_points", "inverse_terms", "prior_terms", "step_pairs", "task_pairs")


def read_back_recipe(
    objective: Objective, choices: StepChoices, cut: UpdateCut, pairs_per_update: int
) -> dict[str, str]:
    """The terms of the objective and the places where it looks; when terms are due, and of how many pairs.

    Its keys are WORK_KEYS.
    """
    parts, shares = list(objective.tasks), choices.recipe.shares(len(choices.plans))
    groups = {term.group for part in parts for term in part.terms}
    in_step = pairs_per_update // cut.cut_into
    inverse_pairs = ", ".join(f"1 of {nth} pairs" for nth in sorted({part.nth for part in parts}))
    inverse = f"{inverse_pairs}, {_due(choices.due('inverse'), cut)}"
    return {
        "decoded_points": ", ".join(f"{part.task.name} {_points(part)}" for part in parts),
        "inverse_terms": inverse if "inverse" in groups else "none",
        "prior_terms": _due(choices.due("priors"), cut) if "priors" in groups else "none",
        "step_pairs": f"{in_step} in {cut.steps} steps",
        "task_pairs": ", ".join(
            f"{part.task.name} {pairs} of {in_step}"
            for part, pairs in zip(parts, part_sizes(in_step, shares), strict=True)
        ),
    }


def _points(part: TaskTerms) -> str:
    if not part.heads(EVERYTHING):
        return "none"
    plan, whole = part.plan, math.prod(part.plan.grid)
    return f"{plan.count} of {whole}" + (f" {plan.strategy}" if plan.count < whole else "")


def _due(due: range, cut: UpdateCut) -> str:
    """In how many of all steps, and which is the first."""
    steps = cut.steps
    within = range(due.start, steps + 1, due.step)
    return f"{len(within)} of {steps} steps" + (f" from {due.start}" if within else "")
