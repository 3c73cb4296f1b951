"""Decode predictions and reconstructions of a task together, where both are at the same places of a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.contracts.switch import Key, ModelSwitch
from trainer.contracts.term import OF_A_DECODED_PREDICTION, OF_A_RECONSTRUCTION

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed
    from trainer.losses.objective import Objective


def put_on(objective: Objective, speed: AnySpeed) -> None:
    """Half of the launches: pairs with inverse terms are rows of the decode of all predictions.

    More work: reconstructions are decoded on the border too, and all rows are read by both heads of a task
    that has two.
    """
    for part in objective.tasks if speed.joint_decode else ():
        inputs = {name for term in part.terms for name in term.inputs}
        asks_for_both = inputs & OF_A_DECODED_PREDICTION and inputs & OF_A_RECONSTRUCTION
        part.decodes_jointly = bool(asks_for_both) and part.plan.lattice is not None


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, int]:
    """How many tasks decode both together, in the steps that ask for both."""
    return {"joint_decodes": sum(part.decodes_jointly for part in objective.tasks)}


SWITCH = ModelSwitch(
    keys={"joint_decode": Key(bool, off=False)}, order=60, put_on=put_on, read_back=read_back
)
