"""Activations recomputed in the backward pass instead of kept: less memory, more work, the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from trainer.model.latent_operator import LatentPdeOperator

# Of these the results are kept, and all that is cheap is recomputed.
KEPT = {
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten._scaled_mm.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
    torch.ops.aten._scaled_dot_product_cudnn_attention.default,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    torch.ops.higher_order.flex_attention,
}


def checkpoint_blocks(model: LatentPdeOperator, which: str) -> None:
    """Checkpoint the operator's blocks in place; the keys of the state dict stay."""
    blocks = model.operator.blocks
    match which:
        case "all":
            _checkpoint(blocks)
        case "every-other":
            _checkpoint(blocks[::2])
        case "selective":
            _checkpoint(blocks, context_fn=partial(create_selective_checkpoint_contexts, _policy))


def checkpoint_ends(model: LatentPdeOperator) -> None:
    """Checkpoint the encoder and the layers of the decoder."""
    _checkpoint([model.encoder, *model.decoder.layers])


def checkpointed(modules: Iterable[nn.Module]) -> int:
    """How many of the modules recompute their activations."""
    return sum(isinstance(module.__dict__.get("forward"), _Recomputed) for module in modules)


def _checkpoint(modules: Iterable[nn.Module], **options: object) -> None:
    for module in modules:
        module.forward = _Recomputed(module.forward, options)


class _Recomputed:
    """A forward pass that keeps its inputs alone."""

    def __init__(self, forward: Callable[..., Tensor], options: dict[str, object]) -> None:
        self.forward, self.options = forward, options

    def __call__(self, *inputs: object) -> Tensor:
        # Nothing in a module is random, so there is no generator state to keep; reading it would wait.
        return checkpoint(
            self.forward, *inputs, use_reentrant=False, preserve_rng_state=False, **self.options
        )


def _policy(_context: object, operator: object, *_arguments: object, **_options: object) -> CheckpointPolicy:
    # Of our kernels attention alone works in a block that is checkpointed.
    kept = operator in KEPT or getattr(operator, "namespace", None) == "speedproof"
    return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE
