"""Latent tokens to field values at any points."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from trainer.config.schema import ModelConfig
from trainer.model.attention import CrossAttention
from trainer.model.fourier import FourierFeatures


class DecoderLayer(nn.Module):
    """Post-norm cross-attention and feed-forward."""

    def __init__(self, dim: int, context_dim: int, heads: int) -> None:
        super().__init__()
        self.attention = CrossAttention(dim, context_dim, heads)
        self.attention_norm = nn.LayerNorm(dim)
        self.feed_forward = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.feed_forward_norm = nn.LayerNorm(dim)

    def forward(
        self, x: Float[Tensor, "pairs queries dim"], context: Float[Tensor, "pairs tokens context"]
    ) -> Float[Tensor, "pairs queries dim"]:
        x = self.attention_norm(x + self.attention(x, context))
        return self.feed_forward_norm(x + self.feed_forward(x))


class AnyPointDecoder(nn.Module):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        dim = config.decoder_hidden_dim
        self.features = FourierFeatures(config.position_frequencies)
        self.embed = nn.Linear(self.features.size, dim)
        self.layers = nn.ModuleList(
            DecoderLayer(dim, config.latent_dim, config.decoder_heads) for _ in range(config.decoder_depth)
        )
        self.head = nn.Linear(dim, 1)

    def forward(
        self, latent: Float[Tensor, "pairs tokens latent"], queries: Float[Tensor, "pairs queries"]
    ) -> Float[Tensor, "pairs queries"]:
        x = self.embed(self.features(queries))
        for layer in self.layers:
            x = layer(x, latent)
        return self.head(x).squeeze(-1)
