"""The learning rate of each update: linear warm-up, then a cosine."""

import math

from trainer.config.schema import OptimizerConfig


def learning_rate(config: OptimizerConfig, step: int, updates: int) -> float:
    """Learning rate of an update; steps count from 1, the first warm-up update is not 0."""
    if step <= config.warmup_updates:
        return config.learning_rate * step / config.warmup_updates
    progress = (step - config.warmup_updates) / (updates - config.warmup_updates)
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    return config.learning_rate * (config.final_fraction + (1 - config.final_fraction) * cosine)
