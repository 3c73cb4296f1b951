"""A valid tiny training plus the difference, and ways to run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import torch
import yaml
from forked import python

from trainer.config import Config, load_config
from trainer.config.schema import DataConfig
from trainer.data.files import sources
from trainer.data.files.sources import open_files

ROOT = Path(__file__).parents[2]

# The gradient of a key bias is rounding error alone, which Adam turns into steps of any size.
SAME_WEIGHTS = {"rtol": 1e-3, "atol": 2e-5}

# As torch raises them, of the GPU's allocator, cuBLAS and the CPU's allocator.
OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"),
]

TINY = {
    "data": {
        "reduced_resolution": 2,
        "held_out_fraction": 0.25,
        "frame_strides": [1, 2],
        "advection1d": {
            "betas": [0.5, 1.0],
            "trajectories": 8,
            "grid_points": 32,
            "frames": 6,
            "end_time": 1.0,
            "max_wave_number": 3,
        },
        "darcy2d": {"betas": [0.5, 5.0], "trajectories": 8, "grid_points": 8},
    },
    "model": {
        "tokens": 4,
        "latent_dim": 8,
        "hidden_dim": 16,
        "depth": 2,
        "heads": 2,
        "drop_path": 0.2,
        "decoder_hidden_dim": 16,
        "decoder_depth": 1,
        "decoder_heads": 2,
    },
    "loss": {
        "forward": 1.0,
        "spectral": 0.05,
        "boundary": 1e-4,
        "conservation": 1e-4,
        "positivity": 1e-4,
        "latent": 1.0,
        "latent_norm": 1e-4,
        "diversity": 1e-4,
        "inverse_encoding": 0.01,
        "inverse_decoding": 0.01,
    },
    "optimizer": {"matrices": "adamw", "learning_rate": 1e-3, "warmup_updates": 2, "clip_norm": 1.0},
    "train": {"updates": 7, "pairs_per_update": 16, "window_updates": 2, "timeout_seconds": 60},
    "speed": {"loader_workers": 0},
}


def tiny_file(folder: Path) -> Path:
    """Write the tiny config, with its data cached in the folder."""
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({**TINY, "data": {"root": str(folder / "data"), **TINY["data"]}}))
    return path


def tiny_config(folder: Path, *overrides: str) -> Config:
    return load_config(tiny_file(folder), overrides)


def ensure_files(config: DataConfig) -> list[Path]:
    """Make what is missing, as a process of its own; return the files of all tasks."""
    sources._tell_of_deeper_files.cache_clear()
    return [file.path for files in open_files(config).values() for file in files]


def events(out: Path, name: str | None = None) -> list[dict]:
    lines = (out / "metrics.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if name in (None, event["event"])]


def train_losses(out: Path) -> list[float]:
    return [loss for window in events(out, "steps") for loss in window["train_loss"]]


def gradient_norms(out: Path) -> list[float]:
    return [norm for window in events(out, "steps") for norm in window["gradient_norm"]]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return torch.load(out / "checkpoint.pt", weights_only=True)["model"]


def launch(arguments: list[str], processes: int, **environment: str) -> subprocess.CompletedProcess:
    """Run `python -m trainer` in a process, or in several as ranks."""
    return python(["-m", "trainer", *arguments], processes, **environment)


def launch_anew(arguments: list[str], processes: int, **environment: str) -> subprocess.CompletedProcess:
    """The same in new processes, by torchrun if several; it takes seconds longer: each imports torch."""
    by = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    command = [sys.executable, "-m", *(by if processes > 1 else []), "trainer", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def train_in_ranks(folder: Path, ranks: int, runs: dict[str, str], by: str = "several_runs.py") -> None:
    """Train several times in the same ranks, as several_runs.py says."""
    settings = [f"{name}={overrides}" for name, overrides in runs.items()]
    done = python([ROOT / "tests/trainer" / by, tiny_file(folder), folder, *settings], ranks)
    assert done.returncode == 0, done.stderr[-4000:]
