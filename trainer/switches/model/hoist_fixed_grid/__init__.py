"""Work on the points of a fixed grid once, not once a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.contracts.switch import Key, ModelSwitch

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed
    from trainer.losses.objective import Objective


def put_on(objective: Objective, speed: AnySpeed) -> None:
    """Embed the places of whole grids and lattices, and project them to the first layer's queries, once for
    all the pairs that have them in common: once for every position that a lattice can take.
    """
    for part in objective.tasks if speed.hoist_fixed_grid else ():
        part.shares_places = part.plan.lattice is not None


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, int]:
    """How many tasks embed places once for several pairs."""
    return {"hoisted_tasks": sum(part.shares_places for part in objective.tasks)}


SWITCH = ModelSwitch(
    keys={"hoist_fixed_grid": Key(bool, off=False)}, order=50, put_on=put_on, read_back=read_back
)
