"""Muon over whole stacks of equal shapes: a few large products in place of hundreds of small ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.profiler import record_function

from trainer.contracts.sections import OptimizerConfig
from trainer.optimizer.matrices import Matrix
from trainer.optimizer.muon_loop import MOMENTUM
from trainer.optimizer.newton_schulz import orthogonalised
from trainer.optimizer.skipping import add_unless, lerp_unless
from trainer.sharding import all_whole, local, part_of

MATCH_ADAMW = 0.2  # update RMS of AdamW; with it one learning rate serves both (Moonshot, arXiv:2502.16982)


@dataclass(frozen=True)
class _Stack:
    """Matrices of one shape, and behind them those of that shape once transposed."""

    wide: list[Matrix]
    tall: list[Matrix]

    @staticmethod
    def of(matrices: list[Matrix]) -> _Stack:
        tall = [matrix for matrix in matrices if _is_tall(matrix)]
        return _Stack([matrix for matrix in matrices if not _is_tall(matrix)], tall)

    @property
    def matrices(self) -> list[Matrix]:
        return [*self.wide, *self.tall]

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = sorted(self.matrices[0].shape)
        return rows, columns

    def changes(self, directions: Tensor, rate: float | Tensor) -> Iterator[tuple[nn.Parameter, Tensor]]:
        """Yield what to add to each parameter, by the directions of all matrices, (matrices, *shape)."""
        factor = -MATCH_ADAMW * math.sqrt(self.shape[1]) * rate
        # With as many axes as the directions: one kernel reads their format and multiplies in float32.
        if isinstance(factor, Tensor):
            factor = factor.view(1, 1, 1)
        else:
            factor = torch.full((1, 1, 1), factor, device=directions.device)
        wide, tall = directions.split([len(self.wide), len(self.tall)])
        for matrices, turned in ((self.wide, wide), (self.tall, tall.mT)):
            change = torch.mul(turned, factor, out=factor.new_empty(turned.shape))
            end = 0
            # Those of a packed parameter lie one behind another, in the order of its rows.
            for _, packed in groupby(matrices, lambda matrix: id(matrix.parameter)):
                begin, (first, *more) = end, packed
                end += 1 + len(more)
                yield first.parameter, change[begin:end].flatten(0, 1)


def _is_tall(matrix: Matrix) -> bool:
    rows, columns = matrix.shape
    return rows > columns


class BatchedMuon:
    """One batched product over all matrices of a shape; of several `ranks` each takes its part of them.

    Nothing in a step waits for the device, and a learning rate that is a tensor stays there. Momentum is
    whole on every rank.
    """

    def __init__(
        self, matrices: list[Matrix], config: OptimizerConfig, *, rank: int = 0, ranks: int = 1
    ) -> None:
        self.rank, self.ranks = rank, ranks
        self.weight_decay = config.weight_decay
        self.learning_rate: float | Tensor = config.learning_rate
        by_shape: dict[tuple[int, ...], list[Matrix]] = defaultdict(list)
        for matrix in matrices:
            by_shape[tuple(sorted(matrix.shape))].append(matrix)
        self.matrices = matrices
        self.stacks = [_Stack.of(equal) for equal in by_shape.values()]
        device = matrices[0].parameter.device
        self.momentum = {m.name: torch.zeros(m.shape, device=device) for m in matrices}

    @property
    def implementation(self) -> str:
        return "Muon batched" + (f" over {self.ranks} ranks" if self.ranks > 1 else "")

    def set_learning_rate(self, rate: float | Tensor) -> None:
        self.learning_rate = rate

    def set_weight_decay(self, weight_decay: float) -> None:
        self.weight_decay = weight_decay

    @record_function("Muon.step")  # in traces, as torch's class has it
    @torch.no_grad()
    def step(self, skipped: Tensor | None = None) -> None:
        """Update; not where `skipped`, which lies on the device, is 1. Even then ranks send directions."""
        parameters = list(dict.fromkeys(matrix.parameter for matrix in self.matrices))
        found_gradients = all_whole([parameter.grad for parameter in parameters])
        whole_gradients = dict(zip(parameters, found_gradients, strict=True))
        gradients = {m.name: m.of(whole_gradients[m.parameter]) for m in self.matrices}
        momentum = [self.momentum[name] for name in gradients]
        lerp_unless(skipped, momentum, list(gradients.values()), 1 - MOMENTUM)
        # All are on their way before the first is waited for: products of one, the exchange of another.
        found = [_Directions(self._mine(stack, gradients), self.ranks) for stack in self.stacks]
        changes: dict[nn.Parameter, Tensor] = {}
        for stack, directions in zip(self.stacks, found, strict=True):
            everyone = directions.everyone()[: len(stack.matrices)]
            changes |= stack.changes(everyone, self.learning_rate)
        weights = [local(parameter) for parameter in changes]
        parts = [part_of(change, parameter) for parameter, change in changes.items()]
        decay = self.learning_rate * self.weight_decay
        torch._foreach_mul_(weights, 1 - (decay if skipped is None else decay * (1 - skipped)))
        add_unless(skipped, weights, parts)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Momentum by the name of its matrix; zero before the first step."""
        return {name: {"momentum": momentum} for name, momentum in self.momentum.items()}

    def held(self) -> Iterator[Tensor]:
        """Yield the momentum."""
        yield from self.momentum.values()

    def load_state(self, state: dict[str, dict[str, Tensor]]) -> None:
        for name, momentum in self.momentum.items():
            momentum.copy_(state[name]["momentum"])

    def _mine(self, stack: _Stack, gradients: dict[str, Tensor]) -> Tensor:
        """Nesterov's look-ahead of this rank's part of a stack, orthogonalised: (part, *shape)."""
        part = math.ceil(len(stack.matrices) / self.ranks)
        mine = stack.matrices[self.rank * part : (self.rank + 1) * part]
        names = [matrix.name for matrix in mine]
        ahead = [gradients[name] for name in names], [self.momentum[name] for name in names]
        ahead = torch._foreach_lerp(*ahead, MOMENTUM) if mine else []
        turned = [a.mT if _is_tall(matrix) else a for matrix, a in zip(mine, ahead, strict=True)]
        # Ranks exchange equal parts: zeros fill up what is missing.
        device = self.momentum[stack.matrices[0].name].device
        missing = torch.zeros(part - len(mine), *stack.shape, device=device)
        return orthogonalised(torch.stack([*turned, *missing]))


class _Directions:
    """Of a stack, those of all ranks, which are on their way."""

    def __init__(self, mine: Tensor, ranks: int) -> None:
        self.mine, self.ranks = mine, ranks
        if ranks > 1:
            self.all = mine.new_empty(ranks * len(mine), *mine.shape[1:])
            self.exchange = dist.all_gather_into_tensor(self.all, mine, async_op=True)

    def everyone(self) -> Tensor:
        if self.ranks == 1:
            return self.mine
        self.exchange.wait()
        return self.all
