"""Which wrapper a run gets."""

from __future__ import annotations

from trainer.losses.objective import Objective
from trainer.run.world import World
from trainer.wrapper.ddp import Ddp
from trainer.wrapper.flat import Flat
from trainer.wrapper.fsdp2 import Fsdp2
from trainer.wrapper.plain import Plain

# `module` is what a micro-step calls; after the last one, `reduce` has the mean gradient of all ranks.
Wrapper = Plain | Ddp | Flat | Fsdp2


def wrap(objective: Objective, kind: str, world: World) -> Wrapper:
    """Wrap for the ranks of this run; a single rank has no one to share with, and only `flat` changes it."""
    if kind == "flat":
        return Flat(objective, world)
    if kind == "none" or world.size == 1:
        return Plain(objective)
    return Fsdp2(objective, world) if kind == "fsdp2" else Ddp(objective, world)
