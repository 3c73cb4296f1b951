"""The terms of the loss, each a mean over pairs in float32."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def forward_loss(
    prediction: Float[Tensor, "pairs queries"], target: Float[Tensor, "pairs queries"]
) -> Float[Tensor, ""]:
    """Decoded prediction against u(t + dt); trains encoder, operator and decoder."""
    return (prediction.float() - target).square().mean()


def latent_loss(
    prediction: Float[Tensor, "pairs tokens latent"], target: Float[Tensor, "pairs tokens latent"]
) -> Float[Tensor, ""]:
    """Advanced latents against the encoding of u(t + dt), without its gradient; trains encoder, operator."""
    return (prediction.float() - target.detach().float()).square().mean()


def spectral_loss(
    prediction: Float[Tensor, "pairs points"], target: Float[Tensor, "pairs points"]
) -> Float[Tensor, ""]:
    """Magnitudes of the spatial Fourier transform, on the whole grid."""
    magnitudes = (torch.fft.rfft(field.float(), norm="ortho").abs() for field in (prediction, target))
    return (next(magnitudes) - next(magnitudes)).square().mean()


def inverse_encoding_loss(
    reconstruction: Float[Tensor, "pairs queries"], field: Float[Tensor, "pairs queries"]
) -> Float[Tensor, ""]:
    """Decoded encoding against u(t) itself; trains encoder and decoder."""
    return (reconstruction.float() - field).square().mean()
