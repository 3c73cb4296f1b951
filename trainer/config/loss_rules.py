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
            "no term trains the operator and the decoder on every task; give loss.forward, or, without a "
            "steady task, both loss.latent and loss.inverse_encoding, a weight above 0",
        )
    if loss.diversity > 0 and model.tokens == 1:
        yield Problem(
            "loss.diversity",
            f"got {loss.diversity}, but model.tokens of 1 have no spread over the tokens of a pair: make it "
            "0, or model.tokens 2 or more",
        )
    for task, grid in grids.items():
        points = math.prod(grid)
        irregular = recipe.query_strategy != "lattice" and 0 < (recipe.query_points or points) < points
        for key, term in TERMS.items():
            weight = getattr(loss, key)
            if irregular and term.needs_regular_grid and weight > 0 and term.of(TASKS[task]):
                yield Problem(
                    f"loss.{key}",
                    f"got {weight}, but it needs a regular grid and {task} decodes "
                    f"{recipe.query_points} {recipe.query_strategy} points of {points}: make it 0, "
                    "recipe.query_points null or recipe.query_strategy lattice",
                )


def _operator_alone(loss: LossConfig, tasks: Iterable[str]) -> Iterator[Problem]:
    """A frozen encoder and decoder leave the latent term, and tasks that have it."""
    for key in TERMS:
        weight = getattr(loss, key)
        if weight > 0 and key != "latent":
            yield Problem(
                f"loss.{key}", f"got {weight}, but model.trained operator has loss.latent only: make it 0"
            )
    if loss.latent == 0:
        yield Problem("loss.latent", "got 0, but model.trained operator has no other term: give it a weight")
    for task in tasks:
        if TASKS[task].steady:
            yield Problem("data.tasks", f"got {task}, which has no latent term, with model.trained operator")
