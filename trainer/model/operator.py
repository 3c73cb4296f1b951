"""Latent tokens at t to latent tokens at t + dt."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from trainer.contracts.sections import ModelConfig
from trainer.model.attention import SelfAttention
from trainer.model.feed_forward import FeedForward


class OperatorBlock(nn.Module):
    """Pre-norm transformer block; dt and the task's parameters set shift, scale and gate of both halves."""

    def __init__(self, dim: int, heads: int, condition_dim: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.attention = SelfAttention(dim, heads)
        self.mlp_norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.mlp = FeedForward(dim, 4 * dim)
        self.modulation = nn.Linear(condition_dim, 6 * dim)
        nn.init.normal_(self.modulation.weight, std=0.02)
        nn.init.zeros_(self.modulation.bias)

    def forward(
        self,
        x: Float[Tensor, "pairs tokens dim"],
        condition: Float[Tensor, "pairs condition"],
        branch_scale: Float[Tensor, "pairs 1 1"],
    ) -> Float[Tensor, "pairs tokens dim"]:
        """branch_scale: 0 where drop path drops the branches of a pair, else 1 / keep probability."""
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(condition)[:, None].chunk(
            6, dim=-1
        )
        branch = self.attention(self.attention_norm(x) * (1 + scale_a) + shift_a)
        x = x + (branch_scale * (1 + gate_a)).to(branch.dtype) * branch
        branch = self.mlp(self.mlp_norm(x) * (1 + scale_m) + shift_m)
        return x + (branch_scale * (1 + gate_m)).to(branch.dtype) * branch


class LatentOperator(nn.Module):
    """z(t + dt) = z(t) + f(z(t), dt, parameters)."""

    def __init__(self, config: ModelConfig, conditions: int) -> None:
        super().__init__()
        dim, width = config.hidden_dim, config.latent_dim
        self.embed_condition = nn.Sequential(
            nn.Linear(conditions, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.embed = nn.Linear(config.latent_dim, dim)
        self.blocks = nn.ModuleList(OperatorBlock(dim, config.heads, width) for _ in range(config.depth))
        self.norm = nn.LayerNorm(dim)
        self.project = nn.Linear(dim, config.latent_dim)

    def forward(
        self,
        latent: Float[Tensor, "pairs tokens latent"],
        condition: Float[Tensor, "pairs conditions"],
        branch_scale: Float[Tensor, "depth pairs"],
    ) -> Float[Tensor, "pairs tokens latent"]:
        return latent + self.project(self.through(latent, self.embed_condition(condition), branch_scale))

    def through(
        self,
        latent: Float[Tensor, "pairs tokens latent"],
        condition: Float[Tensor, "pairs condition"],
        branch_scale: Float[Tensor, "depth pairs"],
    ) -> Float[Tensor, "pairs tokens dim"]:
        """All between the embedding and the last norm: what kernels replace that work across borders.

        The stream is float32, whatever format the branches are in.
        """
        x = self.embed(latent).float()
        for block, scale in zip(self.blocks, branch_scale[..., None, None], strict=True):
            x = block(x, condition, scale)
        return self.norm(x)
