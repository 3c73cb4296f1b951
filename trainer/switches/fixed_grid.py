"""Work on the points of a fixed grid once, not once a pair."""

from __future__ import annotations

from trainer.losses.objective import Objective


def hoist_fixed_grids(objective: Objective) -> None:
    """Embed the places of whole grids and lattices, and project them to the first layer's queries, once for
    all the pairs that have them in common: once for every position that a lattice can take.
    """
    for part in objective.tasks:
        part.shares_places = part.plan.lattice is not None


def hoisted_tasks(objective: Objective) -> int:
    """How many tasks embed places once for several pairs."""
    return sum(part.shares_places for part in objective.tasks)
