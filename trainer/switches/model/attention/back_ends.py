"""Which code computes self-attention: a back end of torch's own, FlexAttention, or our kernel."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention import (
    SDPBackend,
    activate_flash_attention_impl,
    current_flash_attention_impl,
    restore_flash_attention_impl,
    sdpa_kernel,
)
from torch.nn.functional import linear

from trainer.errors import ConfigError
from trainer.model.attention import SelfAttention
from trainer.model.latent_operator import LatentPdeOperator

BACK_ENDS = {
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def replace_self_attention(model: LatentPdeOperator, attention: str) -> None:
    """Give every block the asked self-attention; the keys of the state dict stay."""
    _choose_flash(attention)
    if attention not in ("flex", "one-tile"):
        return
    for block in model.operator.blocks:
        mix = _flex if attention == "flex" else _one_tile
        block.attention.mix = partial(mix, block.attention)
        if attention == "one-tile":
            block.attention.attend = partial(_one_tile_behind, block.attention)


def attention_back_end(attention: str) -> AbstractContextManager[None]:
    """In this context torch's other back ends are off: it fails where the asked one cannot work."""
    asked = "flash" if attention == "flash3" else attention
    return sdpa_kernel(BACK_ENDS[asked]) if asked in BACK_ENDS else contextlib.nullcontext()


def observed_attention(model: LatentPdeOperator, attention: str, dtype: torch.dtype) -> str:
    """What the blocks' self-attention would run now, by the objects and by torch's own choice."""
    modules = [block.attention for block in model.operator.blocks]
    names = {_replaced(module) or _chosen(module, attention, dtype) for module in modules}
    return " and ".join(sorted(names))


def _choose_flash(attention: str) -> None:
    """Put FlashAttention 3 in the place of torch's own flash back end, or that back again."""
    if attention != "flash3":
        if current_flash_attention_impl():
            restore_flash_attention_impl()
        return
    try:
        activate_flash_attention_impl("FA3")
    except ModuleNotFoundError as error:
        raise ConfigError(f'speed.attention: got "flash3", but {error}. Install it, or use flash') from error


def _replaced(module: SelfAttention) -> str | None:
    own = module.__dict__.get("mix")
    return own.func.__name__.strip("_").replace("_", "-") if own else None


def _chosen(module: SelfAttention, attention: str, dtype: torch.dtype) -> str:
    weight = module.qkv.weight
    shape = (1, module.heads, 128, weight.shape[1] // module.heads)
    query, key, value = torch.zeros(3, *shape, device=weight.device, dtype=dtype, requires_grad=True)
    with attention_back_end(attention):
        chosen = torch._fused_sdp_choice(query, key, value)  # no public function tells
    names = {int(back_end): name for name, back_end in BACK_ENDS.items()}
    name = names.get(chosen, f"back end {chosen}")
    return "flash3" if name == "flash" and current_flash_attention_impl() == "FA3" else name


def _flex(attention: SelfAttention, qkv: Tensor) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention  # imports torch.compile's own, in seconds

    query, key, value = attention.normalised(qkv)
    return flex_attention(query, key, value).transpose(1, 2).flatten(2)


def _one_tile(attention: SelfAttention, qkv: Tensor, bias: Tensor | None = None) -> Tensor:
    from trainer.kernels.attention.one_tile_attention import one_tile_attention  # needs Triton

    norms = attention.query_norm, attention.key_norm
    return one_tile_attention(qkv, bias, *(n.weight for n in norms), attention.heads, norms[0].eps)


def _one_tile_behind(attention: SelfAttention, x: Tensor, qkv_weight: Tensor) -> Tensor:
    """SelfAttention.attend where the kernel, which has the gradient of qkv, makes that of its bias too."""
    bias = attention.qkv.bias
    return _one_tile(attention, linear(x, qkv_weight, bias.detach()), bias)
