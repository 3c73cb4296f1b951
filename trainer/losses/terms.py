"""The terms of the loss, each a mean over pairs in float32, each a function of what it compares."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

LEAST_TOKEN_SPREAD = 1.0  # standard deviation over the tokens of a pair, in units of the latents


def forward_loss(
    prediction: Float[Tensor, "pairs fields queries"], target: Float[Tensor, "pairs fields queries"]
) -> Float[Tensor, ""]:
    """Decoded prediction against u(t + dt); trains encoder, operator and decoder."""
    return (prediction.float() - target).square().mean()


def latent_loss(
    prediction: Float[Tensor, "pairs tokens latent"], target: Float[Tensor, "pairs tokens latent"]
) -> Float[Tensor, ""]:
    """Advanced latents against the encoding of u(t + dt), without its gradient; trains encoder, operator."""
    return (prediction.float() - target.detach().float()).square().mean()


def spectral_loss(
    prediction: Float[Tensor, "pairs fields *grid"], target: Float[Tensor, "pairs fields *grid"]
) -> Float[Tensor, ""]:
    """Magnitudes of the spatial Fourier transform on a regular grid."""
    axes = tuple(range(2, prediction.ndim))
    magnitudes = (
        torch.fft.rfftn(field.float(), dim=axes, norm="ortho").abs() for field in (prediction, target)
    )
    return (next(magnitudes) - next(magnitudes)).square().mean()


def inverse_encoding_loss(
    reconstruction: Float[Tensor, "pairs fields queries"], field: Float[Tensor, "pairs fields queries"]
) -> Float[Tensor, ""]:
    """Decoded encoding against u(t) itself; trains encoder and decoder."""
    return (reconstruction.float() - field).square().mean()


def inverse_decoding_loss(
    encoded_again: Float[Tensor, "pairs tokens latent"], latent: Float[Tensor, "pairs tokens latent"]
) -> Float[Tensor, ""]:
    """Encoding, decoded and encoded again, against itself without gradient; trains encoder, decoder."""
    return (encoded_again.float() - latent.detach().float()).square().mean()


def latent_norm_loss(latent: Float[Tensor, "pairs tokens latent"]) -> Float[Tensor, ""]:
    """Keeps the encodings of finite size; trains the encoder."""
    return latent.float().square().mean()


def diversity_loss(latent: Float[Tensor, "pairs tokens latent"]) -> Float[Tensor, ""]:
    """Hinge on the spread over the tokens of a pair (after VICReg, Bardes et al. 2022, where it is over the
    batch; the loss would depend on how a batch is cut). Trains the encoder.
    """
    spread = (latent.float().var(dim=1) + 1e-4).sqrt()  # the root has no gradient at 0
    return (LEAST_TOKEN_SPREAD - spread).relu().mean()


def boundary_loss(border: Float[Tensor, "pairs fields places"]) -> Float[Tensor, ""]:
    """Predicted values where the solution is 0; trains encoder, operator and decoder."""
    return border.float().square().mean()


def conservation_loss(
    prediction: Float[Tensor, "pairs fields points"], field: Float[Tensor, "pairs fields points"]
) -> Float[Tensor, ""]:
    """Change of the mean over a regular grid; trains encoder, operator and decoder."""
    return (prediction.float().mean(dim=2) - field.mean(dim=2)).square().mean()


def positivity_loss(prediction: Float[Tensor, "pairs fields points"]) -> Float[Tensor, ""]:
    """Predicted values below 0; trains encoder, operator and decoder."""
    return (-prediction.float()).relu().square().mean()
