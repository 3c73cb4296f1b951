"""What is begun before it is needed: it is done when it is asked for, and its failures are told by others."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tiny import ROOT, tiny_config, tiny_file

from trainer.errors import ConfigError
from trainer.process import prefetch
from trainer.run import training
from trainer.run.training import Progress, run_training
from trainer.switches.model import runs_kernels

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
AS_A_RANK = """
import os, sys
from trainer import cli
def asked(device):
    print("asked for", device, "torch" in sys.modules)
cli.open_driver = asked
os.environ |= {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}
import trainer.run
class Entry:
    train_one_rank = lambda *_, **__: 0
sys.modules["trainer.run.entry"] = Entry
sys.exit(cli.main(["train", "--config", sys.argv[1], "--seed", "0", "--out", sys.argv[2]]))
"""


def in_a_process(program: str, *arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


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
    monkeypatch.setattr(prefetch.ctypes, "CDLL", lambda name: driver)
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    prefetch.open_driver(3).wait()
    assert driver.calls == calls
    assert os.environ["CUDA_MODULE_LOADING"] == "LAZY"


def test_a_machine_without_a_driver_is_not_told_so(monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)

    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(prefetch.ctypes, "CDLL", absent)
    prefetch.open_driver(0).wait()
    assert told == []


def test_what_is_begun_is_not_waited_for_until_it_is_asked_for():
    may_go_on = threading.Event()
    begun = prefetch.BackgroundTask(may_go_on.wait)
    assert begun.wait(0.01) is None
    assert next(
        thread for thread in threading.enumerate() if thread.name == "wait"
    ).daemon  # else an end would
    may_go_on.set()
    assert begun.wait() is True


def test_what_fails_ahead_has_no_result_and_says_nothing(monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    assert prefetch.BackgroundTask(int, "no number").wait() is None
    assert prefetch.BackgroundTask(int, "11", base=2).wait() == 3
    assert told == []


@pytest.mark.slow
def test_a_rank_asks_for_its_gpu_before_torch_is_imported(tmp_path):
    done = in_a_process(AS_A_RANK, tiny_file(tmp_path), tmp_path / "out")
    assert done.stdout.splitlines()[0] == "asked for 1 False", done.stderr


@pytest.mark.slow
def test_imports_are_not_searched_for_garbage_and_what_comes_after_is():
    program = """
import gc
from trainer import cli
with cli._uncollected():
    print(gc.isenabled())
    import torch
print(gc.isenabled(), gc.get_freeze_count() > 100_000)
frozen = gc.get_freeze_count()
try:
    with cli._uncollected():
        raise ImportError
except ImportError:
    print(gc.isenabled(), gc.get_freeze_count() <= frozen)
"""
    done = in_a_process(program)
    assert done.stdout.split() == ["False", "True", "True", "True", "True"], done.stderr


@pytest.mark.slow
def test_triton_finds_its_hash():
    """In a process of its own: others here have asked for it."""
    program = """
from trainer.process import prefetch
prefetch.hash_triton().wait()
from triton.runtime.cache import triton_key
print(triton_key.cache_info().currsize)
"""
    done = in_a_process(program)
    assert done.stdout.split() == ["1"], done.stderr


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


@pytest.mark.slow
@pytest.mark.parametrize("has_kernels", [False, True])
def test_a_training_with_our_kernels_has_the_hash_when_it_starts(tmp_path, monkeypatch, has_kernels):
    happened = []

    class Hashing:
        def wait(self) -> None:
            happened.append("is there")

    def begin() -> Hashing:
        happened.append("begins")
        return Hashing()

    def start(*_: object) -> None:
        happened.append("start")
        raise InterruptedError

    monkeypatch.setattr(training, "runs_kernels", lambda speed: has_kernels)
    monkeypatch.setattr(training, "hash_triton", begin)
    monkeypatch.setattr(training, "start", start)
    with pytest.raises(InterruptedError):
        run_training(tiny_config(tmp_path), tmp_path / "out", 0, Progress())
    assert happened == (["begins", "is there"] if has_kernels else []) + ["start"]


@pytest.mark.slow
def test_data_are_read_once_beside_the_joining_of_ranks(tmp_path, monkeypatch):
    config = tiny_config(tmp_path)
    opened, joined = training.open_data, training.open_world
    opened(config)  # makes them
    reads, joins, calls = threading.Event(), threading.Event(), []

    def read(*arguments: object, **options: object):
        calls.append(options)
        reads.set()
        assert joins.wait(10)  # else joining waits for the reading
        return opened(*arguments, **options)

    def join(*arguments: object):
        joins.set()
        assert reads.wait(10)  # else reading waits for the joining
        return joined(*arguments)

    def start(*_: object) -> None:
        raise InterruptedError

    monkeypatch.setattr(training, "open_data", read)
    monkeypatch.setattr(training, "open_world", join)
    monkeypatch.setattr(training, "start", start)
    with pytest.raises(InterruptedError):
        run_training(config, tmp_path / "out", 0, Progress())
    assert calls == [{"generates": False}]


@pytest.mark.slow
def test_a_training_that_is_refused_makes_no_data(tmp_path):
    config = tiny_config(tmp_path)
    with pytest.raises(ConfigError, match="checkpoint"):
        run_training(config, tmp_path / "out", 0, Progress(), resume=True)
    assert not Path(config.data.root).exists()
