"""What a GPU makes of the same pair in batches of other sizes: cuFFT's inverse transform, and an FNO.

    python -m benchmarks.learning.spectra

Half a spectrum of a real field has no imaginary part in its mean. The FNO's layers multiply spectra with
complex weights, so theirs have one; a transform back that is right ignores it, as that of the CPU does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.harness.in_words import refused_in_words
from benchmarks.learning.library import FNO
from trainer.process.terminal import answer

POINTS, CHANNELS = (1024, 128), 64
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
FEW, MANY = 16, 256


def main() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    answer("largest difference from the CPU's inverse transform, relative to the largest value")
    for points in POINTS:
        spectra = torch.randn(max(BATCHES), CHANNELS, points // 2 + 1, dtype=torch.complex64)
        without = {"all of it": spectra}  # and then without the imaginary parts of more and more
        for place, name in ((0, "without the mean's"), (-1, "and the last frequency's")):
            spectra = spectra.clone()
            spectra[..., place].imag.zero_()
            without[name] = spectra
        for batch in BATCHES:
            wanted = torch.fft.irfft(spectra[:batch], n=points)
            off = {
                name: relative(torch.fft.irfft(part[:batch].to(device), n=points).cpu(), wanted)
                for name, part in without.items()
            }
            said = ", ".join(f"{name} {difference:.1e}" for name, difference in off.items())
            answer(f"{points} points, batch {batch:3}: {said}")
    answer(
        f"\nlargest difference of a layer's result between batches of {FEW} and {MANY}, where there is one"
    )
    for name, off in fno_differences(device).items():
        answer(f"{name:40} {off:.1e}")


@torch.no_grad()
def fno_differences(device: torch.device) -> dict[str, float]:
    """By layer, in the order of their calls."""
    fno = FNO(n_modes=(32,), in_channels=3, out_channels=1, hidden_channels=CHANNELS, n_layers=4)
    fields = torch.randn(MANY, 3, POINTS[0], device=device)
    seen: dict[str, list[Tensor]] = {}
    for name, layer in fno.to(device).eval().named_modules():
        layer.register_forward_hook(
            lambda _layer, _inputs, out, name=name or "the whole FNO": seen.setdefault(name, []).append(out)
        )
    fno(fields)
    fno(fields[:FEW])
    # Without the activation, which all layers share and call.
    once = {name: results for name, results in seen.items() if len(results) == 2}
    found = {name: relative(few, many[:FEW]) for name, (many, few) in once.items()}
    return {name: off for name, off in found.items() if off > 0}


def relative(value: Tensor, wanted: Tensor) -> float:
    return ((value - wanted).abs().max() / wanted.abs().max()).item()


if __name__ == "__main__":
    with refused_in_words():
        main()
