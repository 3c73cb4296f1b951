"""Which points of a grid are decoded: functions of (seed, step, pair)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor

from trainer.counter_random import Step, uniform

STREAM = 2
Strategy = Literal["uniform", "stratified", "lattice"]


@dataclass(frozen=True)
class QueryPlan:
    """`lattice` is the shape of the regular grid that the points form, where they form one."""

    grid: tuple[int, ...]
    count: int
    strategy: Strategy
    lattice: tuple[int, ...] | None

    @staticmethod
    def of(grid: tuple[int, ...], count: int | None, strategy: Strategy) -> QueryPlan:
        """Return the plan for at most `count` points; None and what is more than the grid mean all of it."""
        points = math.prod(grid)
        if count is None or count >= points:
            return QueryPlan(grid, points, strategy, grid)
        if strategy != "lattice":
            return QueryPlan(grid, count, strategy, None)
        every = next(
            n
            for n in range(1, max(grid) + 1)
            if all(axis % n == 0 for axis in grid) and points // n ** len(grid) <= count
        )
        lattice = tuple(axis // every for axis in grid)
        return QueryPlan(grid, math.prod(lattice), strategy, lattice)

    def reread(self) -> QueryPlan:
        """The points of a field that the encoder reads again: a regular grid, whole in one dimension."""
        if self.lattice is not None:
            return self
        return QueryPlan.of(self.grid, None if len(self.grid) == 1 else self.count, "lattice")

    @property
    def positions(self) -> int:
        """How many places a lattice can take: it moves within one of its cells."""
        return math.prod(self.grid) // self.count

    def position(self, queries: Int[Tensor, "pairs queries"]) -> Int[Tensor, " pairs"]:
        """Which of its places each pair's lattice takes, by its first point."""
        every, first = self.grid[0] // self.lattice[0], queries[:, 0]
        place = torch.zeros_like(first)
        for axis, points in enumerate(self.grid):
            along = first // math.prod(self.grid[axis + 1 :]) % points
            place = place * every + along
        return place

    def lattices(self) -> Int[Tensor, "positions queries"]:
        """The points of the lattice at each of its places, in their order."""
        every = self.grid[0] // self.lattice[0]
        shifts = torch.cartesian_prod(*[torch.arange(every)] * len(self.grid)).view(-1, len(self.grid))
        return self._shifted(shifts)

    def choose(self, seed: int, step: Step, pair: Int[Tensor, " pairs"]) -> Int[Tensor, "pairs queries"]:
        """Distinct points by their index in the flattened grid; in order where they are the whole grid."""
        points = math.prod(self.grid)
        if self.lattice == self.grid:
            return torch.arange(points, device=pair.device).expand(len(pair), -1)
        if self.lattice is not None:
            every = self.grid[0] // self.lattice[0]
            return self._shifted((uniform(STREAM, seed, step, pair, len(self.grid)) * every).long())
        if self.strategy == "uniform":
            numbers = uniform(STREAM, seed, step, pair, points)
            return numbers.argsort(dim=1, stable=True)[:, : self.count]
        cells = torch.arange(self.count + 1, device=pair.device) * points // self.count
        inside = uniform(STREAM, seed, step, pair, self.count) * cells.diff()
        return cells[:-1] + inside.long()

    def _shifted(self, shift: Int[Tensor, "pairs axes"]) -> Int[Tensor, "pairs queries"]:
        """The lattice, moved by some points along each axis, less than from one of its points to the next."""
        every = self.grid[0] // self.lattice[0]
        index = torch.zeros(len(shift), *(1 for _ in self.grid), dtype=torch.long, device=shift.device)
        for axis, points in enumerate(self.grid):
            place = torch.arange(0, points, every, device=shift.device) + shift[:, axis, None]
            shape = [len(shift), *(1 for _ in self.grid)]
            shape[axis + 1] = -1
            index = index * points + place.view(shape)
        return index.flatten(1)
