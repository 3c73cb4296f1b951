"""How the ranks of a run work on one model: one file per value of `speed.wrapper`, and which a run gets."""

from __future__ import annotations

from trainer.contracts.sections import AnySpeed
from trainer.losses.objective import Objective
from trainer.process.world import World
from trainer.wrapper.ddp import Ddp
from trainer.wrapper.flat import Flat
from trainer.wrapper.fsdp2 import Fsdp2
from trainer.wrapper.plain import Plain

# `module` is what a micro-step calls; behind `reduce` of the last one, gradients are the mean over all ranks.
# `reduced` says how many micro-steps of an update reduce: the last one, or all.
Wrapper = Plain | Ddp | Flat | Fsdp2


def wrap(objective: Objective, speed: AnySpeed, world: World) -> Wrapper:
    """Wrap for the ranks of this run; a single rank has no one to share with, and only `flat` changes it."""
    kind, reduced = speed.wrapper, 1
    if speed.reduce_gradients == "every-micro-step":
        reduced = speed.accumulation_steps
    if kind == "flat":
        return Flat(objective, world, reduced)
    if kind == "none" or world.size == 1:
        return Plain(objective)
    return Fsdp2(objective, world, reduced) if kind == "fsdp2" else Ddp(objective, world, reduced)
