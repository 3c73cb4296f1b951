"""Two linear layers with a GELU in between."""

from __future__ import annotations

from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__(nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, dim))
