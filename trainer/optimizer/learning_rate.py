"""The learning rate of each step: linear warm-up, cosine, then its lowest, by the size of the batch."""

import math

from trainer.config.schema import Config


def learning_rate(config: Config, step: int) -> float:
    """Learning rate of a step; steps count from 1, the first of the warm-up is not 0.

    A batch k times as large gets sqrt(k) of it: Adam's rule (Malladi et al. 2022, arXiv:2205.10287), and
    Muon's updates are scaled to the size of Adam's.
    """
    warm_up, update = config.warmup_updates, config.growth.position(step)
    largest = _largest(config, step)
    if update <= warm_up:
        return largest * update / warm_up
    return largest * _falling(config, update)


def read_back_rates(config: Config) -> dict[str, str]:
    """When the rate is at its largest, and from when on at its lowest, by the rates of all steps."""
    return {"learning_rate_warm_up": _warm_up(config), "learning_rate_schedule": _schedule(config)}


def _warm_up(config: Config) -> str:
    if config.warmup_updates == 0:
        return "none"
    for step in range(1, config.growth.steps + 1):
        if math.isclose(learning_rate(config, step), _largest(config, step)):
            return f"largest at update {math.ceil(config.growth.position(step))}"
    return f"never largest in {config.train.updates} updates"


def _schedule(config: Config) -> str:
    positions = (config.growth.position(step) for step in range(1, config.growth.steps + 1))
    falling = (update for update in positions if update > config.warmup_updates)
    lowest = config.optimizer.final_fraction
    first = next((update for update in falling if _falling(config, update) == lowest), None)
    if first is None:
        return f"never lowest in {config.train.updates} updates"
    return f"lowest from update {math.ceil(first)} of {config.train.updates}"


def _largest(config: Config, step: int) -> float:
    return config.optimizer.learning_rate * math.sqrt(config.growth.factor(step))


def _falling(config: Config, update: float) -> float:
    """Share of the largest rate after the warm-up."""
    warm_up, lowest = config.warmup_updates, config.optimizer.final_fraction
    progress = (update - warm_up) / (config.schedule_updates - warm_up)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1, progress)))
    return lowest + (1 - lowest) * cosine
