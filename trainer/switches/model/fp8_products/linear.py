"""Products of the operator's blocks in FP8, on GPUs that have it: two of the three that a linear layer needs.

Its result and the gradient of its input are FP8 products, each tensor with one scale, taken from its largest
value as it is. Weights and values forward have 3 bits of mantissa (e4m3), gradients 2 and a wider range
(e5m2), as in "FP8 Formats for Deep Learning" (arXiv 2209.05433). The gradient of the weight stays in bf16: it
would need both of its factors transposed, a pass over memory each, and it is what a weight learns from.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.errors import ConfigError
from trainer.model.latent_operator import LatentPdeOperator

FIRST_CAPABILITY = (8, 9)  # of the GPUs that multiply in FP8: Ada, Hopper and later
VALUES, GRADIENTS = torch.float8_e4m3fn, torch.float8_e5m2
LEAST = 1e-30  # of the largest value: a tensor of zeros has a scale as well


class Fp8Linear(nn.Linear):
    """A linear layer with the weights of another, the very objects."""

    @classmethod
    def of(cls, linear: nn.Linear) -> Fp8Linear:
        own = cls(linear.in_features, linear.out_features, device="meta")
        own.weight, own.bias = linear.weight, linear.bias
        return own

    def forward(self, x: Float[Tensor, "*rows in"]) -> Float[Tensor, "*rows out"]:
        """Return bf16, as autocast would."""
        rows = x.flatten(0, -2).to(torch.bfloat16)
        with torch.autocast(x.device.type, enabled=False):  # a CPU's FP8 product is made of others
            product = _Fp8Product.apply(rows, self.weight)
        return (product + self.bias.to(torch.bfloat16)).unflatten(0, x.shape[:-1])


def use_fp8_products(model: LatentPdeOperator) -> None:
    """Give every block such layers in place; the keys of the state dict stay. ConfigError on an older GPU."""
    require_fp8(next(model.parameters()).device)
    for block in model.operator.blocks:
        block.attention.qkv = Fp8Linear.of(block.attention.qkv)
        block.attention.out = Fp8Linear.of(block.attention.out)
        for place, layer in enumerate(block.mlp):
            if isinstance(layer, nn.Linear):
                block.mlp[place] = Fp8Linear.of(layer)


def observed_fp8_layers(model: LatentPdeOperator) -> int:
    return sum(isinstance(module, Fp8Linear) for module in model.modules())


def has_fp8(device: torch.device) -> bool:
    """A CPU computes such products, slowly."""
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= FIRST_CAPABILITY


def require_fp8(device: torch.device) -> None:
    """ConfigError on a GPU that has none."""
    if not has_fp8(device):
        name = torch.cuda.get_device_name(device)
        raise ConfigError(f"speed.fp8_products: got true, but {name} does not support FP8. Set it to false")


class _Fp8Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows: Float[Tensor, "n in"], weight: Float[Tensor, "out in"]) -> Float[Tensor, "n out"]:
        ctx.save_for_backward(rows, weight)
        return _product(_scaled(rows, VALUES), _scaled(weight, VALUES), fast=True)

    @staticmethod
    def backward(ctx, gradient: Float[Tensor, "n out"]) -> tuple[Tensor, Tensor]:
        rows, weight = ctx.saved_tensors
        of_rows = _product(_scaled(gradient, GRADIENTS), _scaled(weight.t(), VALUES), fast=False)
        return of_rows, (gradient.t() @ rows).to(weight.dtype)


def _scaled(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Float[Tensor, ""]]:
    """Return x / scale in that format, with its scale: its largest value becomes the format's.

    In rows, which is what a GPU multiplies. The factor is rounded to x's own format before it is used, since
    eager code on a GPU does so, and the scale undoes what it was multiplied with.
    """
    factor = (torch.finfo(dtype).max / x.abs().amax().clamp_min(LEAST)).to(x.dtype)
    return (x * factor).to(dtype).contiguous(), factor.float().reciprocal()


def _product(
    left: tuple[Tensor, Float[Tensor, ""]], right: tuple[Tensor, Float[Tensor, ""]], fast: bool
) -> Float[Tensor, "n out"]:
    """left (n, k) times right (out, k) transposed; fast: sums in fewer bits, as usual for results alone."""
    (a, scale_a), (b, scale_b) = left, right
    # The public torch.nn.functional.scaled_mm has no CPU form in torch 2.11.
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)
