"""What is begun before it is needed: by whom it is needed finds it done, and nobody is told of a failure."""

import ctypes
import subprocess
import sys

import pytest
from tiny import ROOT, tiny_config, tiny_file

from trainer import ahead
from trainer.run import training
from trainer.run.training import Progress, run_training
from trainer.switches.on_model import runs_kernels

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
ASKED = """
import sys
from trainer import cli
def asked(device):
    print("asked for", device, "torch" in sys.modules)
cli.open_driver = asked
sys.exit(cli.main(["train", "--config", sys.argv[1], "--seed", "0", "--out", sys.argv[2]]))
"""


class Driver:
    """libcuda with a GPU of number 3, whose calls are kept; one of them may fail."""

    def __init__(self, failing: str = "") -> None:
        self.failing, self.calls = failing, []

    def cuInit(self, flags: int) -> int:
        return self._called("cuInit", flags)

    def cuDeviceGet(self, handle, number: int) -> int:
        handle._obj.value = number
        return self._called("cuDeviceGet", number)

    def cuDevicePrimaryCtxRetain(self, context, handle: ctypes.c_int) -> int:
        return self._called("cuDevicePrimaryCtxRetain", handle.value)

    def _called(self, name: str, value: int) -> int:
        self.calls.append((name, value))
        return OUT_OF_MEMORY if name == self.failing else 0


@pytest.mark.parametrize(
    ("failing", "calls"),
    [
        ("", [("cuInit", 0), ("cuDeviceGet", 3), ("cuDevicePrimaryCtxRetain", 3)]),
        ("cuInit", [("cuInit", 0)]),
        ("cuDeviceGet", [("cuInit", 0), ("cuDeviceGet", 3)]),
    ],
)
def test_the_context_is_made_of_the_gpu_of_the_rank(failing, calls, monkeypatch):
    driver = Driver(failing)
    monkeypatch.setattr(ahead.ctypes, "CDLL", lambda name: driver)
    ahead.open_driver(3).join()
    assert driver.calls == calls


def test_a_machine_without_a_driver_is_not_told_so(monkeypatch, capfd):
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ahead.ctypes, "CDLL", absent)
    ahead.open_driver(0).join()
    assert capfd.readouterr() == ("", "")


def test_a_training_asks_for_its_gpu_before_torch_is_imported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ASKED, str(tiny_file(tmp_path)), str(tmp_path / "out")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "asked for 0 False"


def test_triton_finds_its_hash_and_those_of_our_kernels():
    """In a process of its own: others here have asked for them."""
    program = """
from trainer import ahead
ahead.hash_triton().join()
ahead.load_kernels().join()
from triton.runtime.cache import triton_key
from trainer.kernels.gated_norm import _forward
print(triton_key.cache_info().currsize, _forward.hash is not None)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["1", "True"], done.stderr


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        ("attention=one-tile", True),
        ("cross_attention=one-tile", True),
        ("fused_pointwise=true", True),
        ("attention=math", False),
        ("compile=blocks", False),
    ],
)
def test_whose_kernels_are_ours(switch, expected, tmp_path):
    config = tiny_config(tmp_path, "model.decoder_hidden_dim=32", "speed.precision=bf16", f"speed.{switch}")
    assert runs_kernels(config.speed) is expected


def test_only_a_training_with_our_kernels_loads_them(tmp_path, monkeypatch):
    for name in ("hash_triton", "load_kernels"):
        monkeypatch.setattr(training, name, lambda: pytest.fail("loads what it has no use for"))
    run_training(tiny_config(tmp_path), tmp_path / "out", 0, Progress())
