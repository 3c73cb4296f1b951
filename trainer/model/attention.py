"""Scaled-dot-product attention, among tokens and from queries to tokens."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class SelfAttention(nn.Module):
    """Multi-head self-attention with RMSNorm on queries and keys."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.query_norm = nn.RMSNorm(dim // heads, eps=1e-6)
        self.key_norm = nn.RMSNorm(dim // heads, eps=1e-6)
        self.out = nn.Linear(dim, dim)

    def forward(self, x: Float[Tensor, "pairs tokens dim"]) -> Float[Tensor, "pairs tokens dim"]:
        return self.out(self.mix(self.qkv(x)))

    def mix(self, qkv: Float[Tensor, "pairs tokens packed"]) -> Float[Tensor, "pairs tokens dim"]:
        """Values weighted by the softmax of queries and keys: what an attention kernel replaces."""
        query, key, value = self.normalised(qkv)
        return scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)

    def normalised(
        self, qkv: Float[Tensor, "pairs tokens packed"]
    ) -> tuple[Float[Tensor, "pairs heads tokens head_dim"], ...]:
        """Queries and keys after their norms, and values."""
        query, key, value = qkv.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.query_norm(query).to(value.dtype), self.key_norm(key).to(value.dtype), value


class CrossAttention(nn.Module):
    """Multi-head attention from query points to latent tokens."""

    def __init__(self, dim: int, context_dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(context_dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def attend(
        self, query: Float[Tensor, "#pairs queries dim"], context: Float[Tensor, "pairs tokens context"]
    ) -> Float[Tensor, "pairs queries dim"]:
        """The heads' results side by side, before the linear layer that mixes them."""
        return self.mix(query, self.key_value(context))

    def mix(
        self, query: Float[Tensor, "#pairs queries dim"], key_value: Float[Tensor, "pairs tokens packed"]
    ) -> Float[Tensor, "pairs queries dim"]:
        """Values weighted by the softmax of queries and keys: what an attention kernel replaces."""
        query = query.unflatten(-1, (self.heads, -1)).transpose(1, 2).expand(len(key_value), -1, -1, -1)
        key, value = key_value.unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
