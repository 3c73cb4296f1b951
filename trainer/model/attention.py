"""Scaled-dot-product attention, among tokens and from queries to tokens."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention

# Of query and key weights: scores are 16 times as large. benchmarks/learning compares 1, 4 and 8.
FIRST_SCALE = 4.0


class SelfAttention(nn.Module):
    """Multi-head self-attention with RMSNorm on queries and keys."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.query_norm = HeadNorm(dim // heads, eps=1e-6)
        self.key_norm = HeadNorm(dim // heads, eps=1e-6)
        self.out = nn.Linear(dim, dim)

    def forward(self, x: Float[Tensor, "pairs tokens dim"]) -> Float[Tensor, "pairs tokens dim"]:
        return self.out(self.mix(self.qkv(x)))

    def attend(
        self, x: Float[Tensor, "pairs tokens dim"], qkv_weight: Float[Tensor, "packed dim"]
    ) -> Float[Tensor, "pairs tokens dim"]:
        """The heads' results side by side, by a weight of qkv that is in the format of x."""
        return self.mix(linear(x, qkv_weight, self.qkv.bias))

    def mix(self, qkv: Float[Tensor, "pairs tokens packed"]) -> Float[Tensor, "pairs tokens dim"]:
        """Values weighted by the softmax of queries and keys: what an attention kernel replaces."""
        query, key, value = self.normalised(qkv)
        return scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)

    def normalised(
        self, qkv: Float[Tensor, "pairs tokens packed"]
    ) -> tuple[Float[Tensor, "pairs heads tokens head_dim"], ...]:
        """Queries and keys after their norms, and values."""
        query, key, value = _by_head(qkv, 3, self.heads)
        query, key = self.query_norm(query), self.key_norm(key)
        return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)


class HeadNorm(nn.RMSNorm):
    """RMSNorm in one kernel on a GPU: its weight is rounded to the format of its rows, sums are in float32.

    Torch has none for rows and weights of two formats (pytorch issue 167308), and autocast of versions after
    2.11 would make float32 copies of both.
    """

    def forward(self, x: Float[Tensor, "*rows head_dim"]) -> Float[Tensor, "*rows head_dim"]:
        # Work is counted on tensors without a device, for which torch 2.11 knows no autocast.
        with nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False):
            return rms_norm(x, self.normalized_shape, self.weight.to(x.dtype), self.eps)


class CrossAttention(nn.Module):
    """Multi-head attention from query points to latent tokens, where like attends to like at first.

    The keys begin as the queries of the tokens, both several times torch's own size. Behind the first
    layer the score of a query with the token at its place then stands some units above the mean, else near 0.
    """

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        # No bias: a key's adds the same to all scores of a query, a value's the same as that of `out`.
        self.key_value = nn.Linear(dim, 2 * dim, bias=False)
        self.out = nn.Linear(dim, dim)
        with torch.no_grad():
            self.query.weight *= FIRST_SCALE
            self.key_value.weight[:dim] = self.query.weight

    def attend(
        self, query: Float[Tensor, "#pairs queries dim"], context: Float[Tensor, "pairs tokens dim"]
    ) -> Float[Tensor, "pairs queries dim"]:
        """The heads' results side by side, before the linear layer that mixes them."""
        return self.mix(query, self.key_value(context))

    def mix(
        self, query: Float[Tensor, "#pairs queries dim"], key_value: Float[Tensor, "pairs tokens packed"]
    ) -> Float[Tensor, "pairs queries dim"]:
        """Values weighted by the softmax of queries and keys: what an attention kernel replaces."""
        query = query.unflatten(-1, (self.heads, -1)).expand(len(key_value), -1, -1, -1)
        parts = query, *_by_head(key_value, 2, self.heads)
        query, key, value = (part.transpose(1, 2) for part in parts)
        return scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)


def _by_head(
    packed: Float[Tensor, "pairs rows packed"], parts: int, heads: int
) -> tuple[Float[Tensor, "pairs rows heads head_dim"], ...]:
    """Cut what one linear layer made of all parts; the gradients are put together in one copy."""
    return tuple(part.unflatten(-1, (heads, -1)) for part in packed.chunk(parts, dim=-1))
