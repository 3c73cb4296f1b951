"""What work a step really does, asked of what decides it: recipes differ here, not in how it is computed."""

from __future__ import annotations

import math

from trainer.data.mixture import part_sizes
from trainer.losses.choices import StepChoices
from trainer.losses.objective import Objective
from trainer.losses.queries import QueryPlan


def read_back_recipe(objective: Objective, choices: StepChoices) -> dict[str, str]:
    parts, config = list(objective.tasks), choices.config
    pairs = part_sizes(config.train.pairs_per_update, config.task_shares)
    inverse = {part.nth for part in parts if any(term.group == "inverse" for term in part.terms)}
    sizes = dict.fromkeys(config.step_pairs(step) for step in (1, config.growth.steps))
    return {
        "task_pairs": _each(objective, [f"{n} of {sum(pairs)}" for n in pairs]),
        "decoded_points": _each(objective, [_points(part.plan) for part in parts]),
        "inverse_terms": ", ".join(
            [*(f"1 of {nth} pairs" for nth in inverse), _due(choices, "inverse")] if inverse else ["none"]
        ),
        "prior_terms": _due(choices, "priors"),
        "step_pairs": " to ".join(map(str, sizes)),
    }


def _each(objective: Objective, texts: list[str]) -> str:
    return ", ".join(f"{part.task.name} {text}" for part, text in zip(objective.tasks, texts, strict=True))


def _points(plan: QueryPlan) -> str:
    whole = math.prod(plan.grid)
    return f"{plan.count} of {whole}" + (f" {plan.strategy}" if plan.count < whole else "")


def _due(choices: StepChoices, group: str) -> str:
    """How often, by the phases of one period behind the exploration."""
    explored = choices.config.recipe.exploration_updates
    period = choices.config.period_updates
    phases = [choices.phase(explored + step) for step in range(1, period + 1)]
    due = sum(getattr(phase, group) for phase in phases)
    return f"1 of {period // due} steps" + (f" after {explored}" if explored else "")
