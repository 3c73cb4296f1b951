"""Our kernels on a CPU, in Triton's interpreter, which is chosen before Triton is first imported."""

import pytest
from forked import python

pytestmark = pytest.mark.slow


def test_our_kernels_keep_their_promises_in_tritons_interpreter():
    """Without conftest.py: its checks of shapes rewrite the modules, whose source the interpreter reads."""
    program = [
        "-m",
        "pytest",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "tests/trainer/interpreted_kernels.py",
    ]
    done = python(program, TRITON_INTERPRET="1", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stdout + done.stderr


# One product is all that the compiler gets, both ways: for anything else it would call that of C++.
DOUBLED = """
import sys
from pathlib import Path

import torch
from torch import Tensor

from trainer.kernels import custom_op as operators

folder = Path(sys.argv[1])
operators.VERSION = operators.version_of(folder)


@operators.custom_op
def doubled(x: Tensor) -> Tensor:
    return 2 * x


torch.library.register_fake(doubled)(torch.empty_like)
exec((folder / "gradient.py").read_text())
torch.library.register_autograd(doubled, lambda ctx, gradient: gradient_of(gradient))
x = torch.ones(3, requires_grad=True)
torch.compile(doubled)(x).sum().backward()
print(x.grad.tolist())
"""


def test_a_compilers_cache_keeps_no_gradient_of_an_earlier_version(tmp_path):
    kernels, cache = tmp_path / "kernels", tmp_path / "cache"
    kernels.mkdir()
    for formula, expected in (("doubled(gradient)", 2.0), ("doubled(doubled(gradient))", 4.0)):
        (kernels / "gradient.py").write_text(f"def gradient_of(gradient): return {formula}")
        done = python(["-c", DOUBLED, kernels], TORCHINDUCTOR_CACHE_DIR=str(cache))
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == str([expected] * 3)
    assert any(cache.rglob("aotautograd/*"))  # or nothing was kept, whatever it is found by
