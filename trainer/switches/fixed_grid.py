"""Work on a fixed grid once, not once a pair: where all pairs are decoded at all points of their grid."""

from __future__ import annotations

from trainer.losses.objective import Objective


def hoist_fixed_grids(objective: Objective) -> None:
    """Embed the places of whole grids, and project them to the first layer's queries, for one pair alone."""
    for part in objective.tasks:
        part.shares_places = part.plan.lattice == part.plan.grid


def hoisted_tasks(objective: Objective) -> int:
    """How many tasks embed their places once."""
    return sum(part.shares_places for part in objective.tasks)
