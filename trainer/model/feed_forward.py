"""Two linear layers with a GELU in between."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Sequential):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__(nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))

    def forward(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows dim"]:
        return self[2](self.hidden(x))

    def hidden(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows hidden"]:
        """What a kernel replaces."""
        return self[1](self[0](x))
