"""The learning rate of each step: linear warm-up, then a cosine, scaled to the size of its batch."""

import math

from trainer.config.schema import Config


def learning_rate(config: Config, step: int) -> float:
    """Learning rate of a step; steps count from 1, the first of the warm-up is not 0.

    A batch k times as large gets sqrt(k) of it: Adam's rule (Malladi et al. 2022, arXiv:2205.10287), and
    Muon's updates are scaled to the size of Adam's.
    """
    optimizer, update = config.optimizer, config.growth.position(step)
    largest = optimizer.learning_rate * math.sqrt(config.growth.factor(step))
    if update <= optimizer.warmup_updates:
        return largest * update / optimizer.warmup_updates
    progress = (update - optimizer.warmup_updates) / (config.schedule_updates - optimizer.warmup_updates)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1, progress)))
    falling = optimizer.final_fraction + (1 - optimizer.final_fraction) * cosine
    return largest * falling
