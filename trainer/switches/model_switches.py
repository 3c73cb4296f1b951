"""The switches that change how the model computes: products, attention, what is kept, compilation."""

from __future__ import annotations

import torch

from trainer.config.schema import SpeedConfig
from trainer.losses.objective import Objective
from trainer.switches.activation_checkpointing import checkpoint_blocks, checkpoint_ends, checkpointed
from trainer.switches.attention import (
    observed_attention,
    observed_cross_attention,
    replace_cross_attention,
    replace_self_attention,
)
from trainer.switches.compile_blocks import compile_blocks, compile_whole, compiled_blocks, observed_compile
from trainer.switches.fixed_grid import hoist_fixed_grids, hoisted_tasks
from trainer.switches.fp8_products import observed_fp8_layers, use_fp8_products
from trainer.switches.fused_pointwise import fuse_pointwise, observed_fused_layers


def apply_to_model(objective: Objective, speed: SpeedConfig) -> None:
    """Turn them on in place, inner ones first; the keys of the state dict stay."""
    model = objective.model
    if speed.fp8_products:
        use_fp8_products(model)
    replace_self_attention(model, speed.attention)
    if speed.cross_attention == "one-tile":
        replace_cross_attention(model)
    if speed.fused_pointwise:
        fuse_pointwise(model)
    if speed.hoist_fixed_grid:
        hoist_fixed_grids(objective)
    checkpoint_blocks(model, speed.activation_checkpointing)
    if speed.checkpoint_encoder_decoder:
        checkpoint_ends(model)
    if speed.compile == "blocks":
        compile_blocks(model, speed.compile_mode)
    if speed.compile == "model":
        compile_whole(objective, speed.compile_mode)


def observe_model(
    objective: Objective, speed: SpeedConfig, product_dtype: torch.dtype
) -> dict[str, str | int]:
    """What is on, asked of the modules."""
    model = objective.model
    return {
        "compile": observed_compile(objective),
        "compiled_blocks": compiled_blocks(model),
        "attention": observed_attention(model, speed.attention, product_dtype),
        "cross_attention": observed_cross_attention(model),
        "fp8_layers": observed_fp8_layers(model),
        "fused_layers": observed_fused_layers(model),
        "hoisted_tasks": hoisted_tasks(objective),
        "checkpointed_blocks": checkpointed(model.operator.blocks),
        "checkpointed_ends": checkpointed([model.encoder, *model.decoder.layers]),
    }
