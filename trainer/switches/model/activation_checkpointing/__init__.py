"""Activations recomputed in the backward pass instead of kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from trainer.contracts.switch import Key, ModelSwitch

if TYPE_CHECKING:
    import torch

    from trainer.contracts.sections import AnySpeed
    from trainer.losses.objective import Objective

Blocks = Literal["off", "all", "every-other", "selective"]


def put_on(objective: Objective, speed: AnySpeed) -> None:
    from trainer.switches.model.activation_checkpointing.recompute import checkpoint_blocks, checkpoint_ends

    checkpoint_blocks(objective.model, speed.activation_checkpointing)
    if speed.checkpoint_encoder_decoder:
        checkpoint_ends(objective.model)


def read_back(objective: Objective, speed: AnySpeed, dtype: torch.dtype) -> dict[str, int]:
    from trainer.switches.model.activation_checkpointing.recompute import checkpointed

    model = objective.model
    return {
        "checkpointed_blocks": checkpointed(model.operator.blocks),
        "checkpointed_ends": checkpointed([model.encoder, *model.decoder.layers]),
    }


SWITCH = ModelSwitch(
    keys={  # of the operator's blocks; of encoder and decoder
        "activation_checkpointing": Key(Blocks, off="off"),
        "checkpoint_encoder_decoder": Key(bool, off=False),
    },
    order=60,
    put_on=put_on,
    read_back=read_back,
)
