"""The places where the loss terms of one task look at its fields."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from trainer.contracts.task import Task
from trainer.losses.queries import QueryPlan
from trainer.model.latent_operator import LatentPdeOperator

BORDER_PLACES = 32  # per axis


class TaskPlaces(nn.Module):
    """Has buffers only; the model is given at each call, since it belongs to the objective."""

    def __init__(self, task: Task, plan: QueryPlan, inverse_every_nth_pair: int) -> None:
        super().__init__()
        self.task, self.plan, self.nth = task, plan, inverse_every_nth_pair
        reread = plan.reread()
        first = reread.choose(0, 0, torch.zeros(1, dtype=torch.long))[0]
        self.reread_grid = reread.lattice
        self.shares_places = False  # places that pairs have in common are embedded once
        self.decodes_jointly = False  # predictions and reconstructions in one decode
        if plan.lattice is not None:
            self.register_buffer("lattices", plan.lattices(), persistent=False)
        self.register_buffer("reread", first, persistent=False)
        self.register_buffer("border", _border(plan.grid, task.wraps_around), persistent=False)

    def places(
        self, model: LatentPdeOperator, queries: Int[Tensor, "pairs queries"]
    ) -> tuple[Float[Tensor, "rows queries dimensions"], Float[Tensor, "pairs rows"] | None]:
        """Places of each pair; or those of every position of a lattice, and which of them is each pair's."""
        places = model.places(self.task.name)
        if not self.shares_places:
            return places[queries], None
        if self.plan.positions == 1:
            return places[None], None
        spread = torch.nn.functional.one_hot(self.plan.position(queries), self.plan.positions)
        return places[self.lattices], spread.to(places.dtype)


def _border(grid: tuple[int, ...], wraps_around: bool = True) -> Float[Tensor, "places dimensions"]:
    """Places half a cell outside the first centre, and where none wrap around outside the last one too."""
    along = torch.arange(BORDER_PLACES) / BORDER_PLACES
    axes = []
    for axis in range(len(grid)):
        outside = -0.5 / grid[axis]
        for end in [outside] if wraps_around else [outside, 1 + outside]:
            places = along[:, None].repeat(1, len(grid))
            places[:, axis] = end
            axes.append(places if wraps_around else places / 2)
    return torch.cat(axes)
