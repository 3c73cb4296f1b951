"""Muon over whole stacks of equal shapes: a few large products in place of hundreds of small ones."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainer.config.schema import OptimizerConfig
from trainer.optimizer.matrices import Matrix
from trainer.optimizer.muon_loop import MOMENTUM
from trainer.optimizer.newton_schulz import orthogonalised
from trainer.sharding import local, share_of, whole

MATCH_ADAMW = 0.2  # update RMS of AdamW; with it one learning rate serves both (Moonshot, arXiv:2502.16982)


@dataclass(frozen=True)
class _Stack:
    """Matrices of one shape and their momentum, (matrices, rows, columns), whole on every rank."""

    matrices: list[Matrix]
    momentum: Tensor

    def next_direction(self, gradients: dict[nn.Parameter, Tensor]) -> Tensor:
        """Return Nesterov's look-ahead of the momentum after these gradients."""
        stacked = torch.stack([matrix.of(gradients[matrix.parameter]) for matrix in self.matrices])
        self.momentum.lerp_(stacked, 1 - MOMENTUM)
        return stacked.lerp_(self.momentum, MOMENTUM)

    @property
    def update_scale(self) -> float:
        return MATCH_ADAMW * math.sqrt(max(self.momentum.shape[1:]))


class BatchedMuon:
    """One batched product over all matrices of a shape; of several `ranks` each takes its part of them.

    Nothing in a step waits for the device, and a learning rate that is a tensor stays there.
    """

    def __init__(
        self, matrices: list[Matrix], config: OptimizerConfig, *, rank: int = 0, ranks: int = 1
    ) -> None:
        self.rank, self.ranks = rank, ranks
        self.weight_decay = config.weight_decay
        self.learning_rate: float | Tensor = config.learning_rate
        self.parameters = list(dict.fromkeys(matrix.parameter for matrix in matrices))
        by_shape: dict[tuple[int, int], list[Matrix]] = defaultdict(list)
        for matrix in matrices:
            by_shape[matrix.shape].append(matrix)
        self.stacks = [
            _Stack(equal, torch.zeros(len(equal), *shape, device=equal[0].parameter.device))
            for shape, equal in by_shape.items()
        ]

    @property
    def implementation(self) -> str:
        return "Muon batched" + (f" over {self.ranks} ranks" if self.ranks > 1 else "")

    def set_learning_rate(self, rate: float | Tensor) -> None:
        self.learning_rate = rate

    def set_weight_decay(self, weight_decay: float) -> None:
        self.weight_decay = weight_decay

    @torch.no_grad()
    def step(self) -> None:
        gradients = {parameter: whole(parameter.grad) for parameter in self.parameters}
        updates: dict[nn.Parameter, list[Tensor]] = defaultdict(list)
        for stack in self.stacks:
            direction = self._orthogonalised(stack.next_direction(gradients))
            change = direction.to(torch.float32, memory_format=torch.contiguous_format)
            change = change * (-stack.update_scale * self.learning_rate)
            for matrix, part in zip(stack.matrices, change.unbind(), strict=True):
                updates[matrix.parameter].append(part)
        changes = [_packed(updates[parameter], parameter) for parameter in self.parameters]
        weights = [local(parameter) for parameter in self.parameters]
        torch._foreach_mul_(weights, 1 - self.learning_rate * self.weight_decay)
        torch._foreach_add_(weights, changes)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Momentum by the name of its matrix; zero before the first step."""
        return {
            matrix.name: {"momentum": momentum}
            for stack in self.stacks
            for matrix, momentum in zip(stack.matrices, stack.momentum.unbind(), strict=True)
        }

    def load_state(self, state: dict[str, dict[str, Tensor]]) -> None:
        for name, own in self.state().items():
            own["momentum"].copy_(state[name]["momentum"])

    def _orthogonalised(self, directions: Tensor) -> Tensor:
        if self.ranks == 1:
            return orthogonalised(directions)
        count = len(directions)
        share = math.ceil(count / self.ranks)
        mine = directions.new_zeros(share, *directions.shape[1:])
        held = directions[self.rank * share : (self.rank + 1) * share]
        mine[: len(held)] = held
        mine = orthogonalised(mine).contiguous()
        everyone = mine.new_empty(self.ranks * share, *mine.shape[1:])
        dist.all_gather_into_tensor(everyone, mine)
        return everyone[:count]


def _packed(parts: list[Tensor], parameter: nn.Parameter) -> Tensor:
    """The parts of one parameter as this rank holds that parameter."""
    return local(share_of(parts[0] if len(parts) == 1 else torch.cat(parts), parameter))
