"""Random choices of a training step, as functions of (seed, step, pair)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from trainer.config.schema import Config
from trainer.counter_random import uniform

DROP_PATH, QUERIES = 1, 2  # streams
Step = int | Int[Tensor, ""]


@dataclass(frozen=True)
class StepChoices:
    depth: int
    drop_path: float  # of the last block; linear in depth, 0 in the first
    points: int
    query_points: int
    seed: int

    @staticmethod
    def of(config: Config, seed: int) -> StepChoices:
        return StepChoices(
            config.model.depth, config.model.drop_path, config.reduced_points, config.query_points, seed
        )

    def branch_scale(self, step: Step, pair: Int[Tensor, " pairs"]) -> Float[Tensor, "depth pairs"]:
        """0 where a block is dropped for a pair, else 1 / keep probability."""
        if self.drop_path == 0:
            return torch.ones(self.depth, len(pair), device=pair.device)
        depths = torch.arange(self.depth, device=pair.device) / max(1, self.depth - 1)
        keep = 1 - self.drop_path * depths
        kept = uniform(DROP_PATH, self.seed, step, pair, self.depth) < keep
        return (kept / keep).T

    def queries(self, step: Step, pair: Int[Tensor, " pairs"]) -> Int[Tensor, "pairs queries"]:
        """Grid points to decode, without repetition; in order where they are the whole grid."""
        if self.query_points == self.points:
            return torch.arange(self.points, device=pair.device).expand(len(pair), -1)
        numbers = uniform(QUERIES, self.seed, step, pair, self.points)
        return numbers.argsort(dim=1, stable=True)[:, : self.query_points]
