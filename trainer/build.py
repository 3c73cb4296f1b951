"""Model, losses, random choices and learning rate that a config asks for, made of its parts."""

from __future__ import annotations

from trainer.config.schema import Config
from trainer.losses.choices import StepChoices, query_plans
from trainer.losses.objective import Objective
from trainer.model.latent_operator import LatentPdeOperator
from trainer.optimizer.learning_rate import RateSchedule


def build_model(config: Config) -> LatentPdeOperator:
    return LatentPdeOperator(config.model, config.grids)


def build_objective(model: LatentPdeOperator, config: Config) -> Objective:
    return Objective(model, config.loss, config.recipe)


def build_choices(config: Config, seed: int) -> StepChoices:
    """Return what decides each step's random choices."""
    plans = query_plans(config.grids, config.recipe)
    model, ramp = config.model, config.loss.inverse_warmup_updates
    return StepChoices(config.recipe, plans, model.depth, model.drop_path, ramp, seed)


def build_rates(config: Config) -> RateSchedule:
    own, end = config.optimizer, config.schedule_updates
    return RateSchedule(own.learning_rate, config.warmup_updates, end, config.cut)
