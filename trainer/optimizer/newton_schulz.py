"""The nearest semi-orthogonal matrices, roughly: five Newton-Schulz steps on a stack of equal shapes."""

from __future__ import annotations

import torch
from jaxtyping import BFloat16, Float
from torch import Tensor

STEPS = 5
COEFFICIENTS = (
    3.4445,
    -4.7750,
    2.0315,
)  # Jordan et al., Muon (2024): as steep at 0 as five steps allow
SMALLEST_NORM = 1e-7


def orthogonalised(
    matrices: Float[Tensor, "matrices rows columns"],
) -> BFloat16[Tensor, "matrices rows columns"]:
    """Return about U V^T of each matrix U S V^T, its singular values only near 1; products in bfloat16.

    Lay tall matrices on their side: of more rows than columns the Gram matrix is the dearer one.
    """
    a, b, c = COEFFICIENTS
    x = matrices.to(torch.bfloat16)
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp_min(SMALLEST_NORM)
    for _ in range(STEPS):
        gram = x @ x.mT
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return x
