"""Losses that train nothing, or need what a config does not give them."""

import math
from collections.abc import Iterable, Iterator

from trainer.config.schema import LossConfig
from trainer.contracts.sections import ModelConfig, RecipeConfig
from trainer.data.tasks import TASKS
from trainer.errors import Problem
from trainer.losses.terms import TERMS
from trainer.model.token_grid import Grids


def broken_loss_rules(
    loss: LossConfig, recipe: RecipeConfig, model: ModelConfig, grids: Grids
) -> Iterator[Problem]:
    if model.trained == "operator":
        yield from _operator_alone(loss, grids)
        return
    decodes_prediction = loss.forward > 0 or loss.spectral > 0
    moves = loss.latent > 0 and not any(TASKS[task].steady for task in grids)
    if not decodes_prediction and not (moves and loss.inverse_encoding > 0):
        yield Problem(
            "loss",
            "no term trains both operator and decoder on every task. Give loss.forward a weight above 0; "
            "without a steady task, loss.latent and loss.inverse_encoding together work too",
        )
    if loss.diversity > 0 and model.tokens == 1:
        yield Problem(
            "loss.diversity",
            f"got {loss.diversity}, expected 0, or model.tokens of 2 or more: a single token has no spread",
        )
    for task, grid in grids.items():
        points = math.prod(grid)
        irregular = recipe.query_strategy != "lattice" and 0 < (recipe.query_points or points) < points
        for key, term in TERMS.items():
            weight = getattr(loss, key)
            if irregular and term.needs_regular_grid and weight > 0 and term.of(TASKS[task]):
                yield Problem(
                    f"loss.{key}",
                    f"got {weight}, but this term needs a regular grid, and {task} decodes "
                    f"{recipe.query_points} {recipe.query_strategy} points of {points}. Set it to 0, "
                    "recipe.query_points to null or recipe.query_strategy to lattice",
                )


def _operator_alone(loss: LossConfig, tasks: Iterable[str]) -> Iterator[Problem]:
    """A frozen encoder and decoder leave the latent term, and tasks that have it."""
    for key in TERMS:
        weight = getattr(loss, key)
        if weight > 0 and key != "latent":
            yield Problem(
                f"loss.{key}", f"got {weight}, expected 0: model.trained operator uses loss.latent only"
            )
    if loss.latent == 0:
        yield Problem("loss.latent", "got 0, expected above 0: model.trained operator has no other term")
    for task in tasks:
        if TASKS[task].steady:
            yield Problem(
                "data.tasks", f"got {task}, which has no latent term; model.trained operator needs one"
            )
