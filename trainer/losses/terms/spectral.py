"""Magnitudes of the spatial Fourier transform on a regular grid; trains encoder, operator and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Float

from trainer.contracts.term import Term

if TYPE_CHECKING:  # the config is validated without torch
    from torch import Tensor


def spectral_loss(
    prediction: Float[Tensor, "pairs fields *grid"], target: Float[Tensor, "pairs fields *grid"]
) -> Float[Tensor, ""]:
    import torch

    axes = tuple(range(2, prediction.ndim))
    magnitudes = (
        torch.fft.rfftn(field.float(), dim=axes, norm="ortho").abs() for field in (prediction, target)
    )
    return (next(magnitudes) - next(magnitudes)).square().mean()


TERM = Term(
    name="spectral",
    inputs=("prediction_on_grid", "target_on_grid"),
    loss=spectral_loss,
    order=2,
)
