"""Latent tokens to field values at any points."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from trainer.contracts.sections import ModelConfig
from trainer.data.tasks import TASKS
from trainer.model.attention import CrossAttention
from trainer.model.coordinates import FourierFeatures, token_centres
from trainer.model.feed_forward import FeedForward
from trainer.model.token_grid import Grids


class DecoderLayer(nn.Module):
    """Post-norm cross-attention and feed-forward."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = CrossAttention(dim, heads)
        self.attention_norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim, dim)
        self.feed_forward_norm = nn.LayerNorm(dim)

    def forward(
        self,
        x: Float[Tensor, "rows queries dim"],
        context: Float[Tensor, "pairs tokens dim"],
        spread: Float[Tensor, "pairs rows"] | None = None,
    ) -> Float[Tensor, "pairs queries dim"]:
        """x has a row for each pair, one for all, or some that `spread` shares out: a 1 names each pair's."""
        query = self.attention.query(x)
        if spread is not None:
            x, query = spread_out(x, spread), spread_out(query, spread)
        return self.tail(x, self.attention.attend(query, context))

    def tail(
        self, x: Float[Tensor, "#pairs queries dim"], attended: Float[Tensor, "pairs queries dim"]
    ) -> Float[Tensor, "pairs queries dim"]:
        """All behind the attention."""
        x = self.attention_norm(x + self.attention.out(attended))
        return self.feed_forward_norm(x + self.feed_forward(x))


def spread_out(
    x: Float[Tensor, "rows queries dim"], spread: Float[Tensor, "pairs rows"]
) -> Float[Tensor, "pairs queries dim"]:
    """Choose rows by a product: its gradient is one as well, where that of an index would have to sort."""
    return (spread.to(x.dtype) @ x.flatten(1)).unflatten(1, x.shape[1:])


class PlaceEmbedding(nn.Module):
    """Coordinates to the decoder's width; the first layer depends on the dimensions, the second does not."""

    def __init__(self, frequencies: tuple[int, ...], dimensions: set[int], dim: int) -> None:
        super().__init__()
        self.features = nn.ModuleDict({str(n): FourierFeatures(frequencies, n) for n in sorted(dimensions)})
        self.embed = nn.ModuleDict({name: nn.Linear(part.size, dim) for name, part in self.features.items()})
        self.mix = nn.Linear(dim, dim)

    def forward(self, places: Float[Tensor, "*shape dimensions"]) -> Float[Tensor, "*shape dim"]:
        name = str(places.shape[-1])
        return self.mix(nn.functional.gelu(self.embed[name](self.features[name](places))))


class JointHead:
    """Reads the fields of several heads, one behind the other, as one linear layer does."""

    def __init__(self, heads: list[nn.Linear]) -> None:
        self.weight = torch.cat([head.weight for head in heads])
        self.bias = torch.cat([head.bias for head in heads])

    def __call__(self, x: Float[Tensor, "*rows dim"]) -> Float[Tensor, "*rows fields"]:
        return linear(x, self.weight, self.bias)


class AnyPointDecoder(nn.Module):
    """Shared by all tasks but for the heads, one per field, and two sets where other fields are given."""

    def __init__(self, config: ModelConfig, grids: Grids) -> None:
        super().__init__()
        dim = config.decoder_hidden_dim
        self.place = PlaceEmbedding(config.position_frequencies, {len(grid) for grid in grids.values()}, dim)
        self.context = nn.Linear(config.latent_dim, dim)
        self.layers = nn.ModuleList(
            DecoderLayer(dim, config.decoder_heads) for _ in range(config.decoder_depth)
        )
        fields = {head: count for name in grids for head, count in _heads(name).items()}
        self.heads = nn.ModuleDict({head: nn.Linear(dim, count) for head, count in fields.items()})
        for name, grid in grids.items():
            for head in _heads(name):
                centres = token_centres(config.tokens, grid, TASKS[name].wraps_around)
                self.register_buffer(f"centres_{head}", centres, persistent=False)

    def forward(
        self,
        heads: Sequence[str],
        latent: Float[Tensor, "pairs tokens latent"],
        places: Float[Tensor, "rows queries dimensions"],
        spread: Float[Tensor, "pairs rows"] | None = None,
    ) -> Float[Tensor, "pairs fields queries"]:
        """Return the fields of all heads, which are of one task.

        Places are of each pair, of all pairs, or some that `spread` shares out: a 1 names each pair's.

        Tokens are embedded with their places as queries are, so that a query can find those near it. Where
        places wrap around, their features are periodic, and opposite borders are near each other.
        """
        context = self.context(latent) + self.place(self.get_buffer(f"centres_{heads[0]}"))
        readers = [self.heads[name] for name in heads]
        head = readers[0] if len(readers) == 1 else JointHead(readers)
        return self.through(self.place(places), context, spread, head).transpose(1, 2)

    def through(
        self,
        x: Float[Tensor, "rows queries dim"],
        context: Float[Tensor, "pairs tokens dim"],
        spread: Float[Tensor, "pairs rows"] | None,
        head: nn.Linear | JointHead,
    ) -> Float[Tensor, "pairs queries fields"]:
        """Layers and head: what kernels replace."""
        for number, layer in enumerate(self.layers):
            x = layer(x, context, spread if number == 0 else None)
        return head(x)


def target_head(task: str) -> str:
    return task


def state_head(task: str) -> str:
    """Of the fields given; in most tasks that move in time they are the fields asked for."""
    return f"{task}_given" if TASKS[task].given != TASKS[task].target else task


def _heads(task: str) -> dict[str, int]:
    return {target_head(task): len(TASKS[task].target), state_head(task): len(TASKS[task].given)}
