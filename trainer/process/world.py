"""The ranks of a run, and the few things that they tell each other."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from trainer.errors import ConfigError
from trainer.process.ranks import rank_from_environment


@dataclass(frozen=True)
class World:
    rank: int
    size: int
    device: torch.device

    def gather(self, values: Tensor) -> Tensor:
        """Return the values of all ranks, stacked by rank."""
        if self.size == 1:
            return values[None]
        gathered = values.new_empty(self.size * values.numel())
        dist.all_gather_into_tensor(gathered, values.flatten())
        return gathered.view(self.size, *values.shape)

    def gather_text(self, text: str) -> list[str]:
        if self.size == 1:
            return [text]
        texts = [""] * self.size
        dist.all_gather_object(texts, text)
        return texts

    def device_name(self) -> str:
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else _cpu_name()


def _cpu_name() -> str:
    """The model name that Linux gives; the architecture where it gives none."""
    with suppress(OSError):
        names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if names:
            return names[0]
    return f"{platform.machine()} CPU"


@contextmanager
def open_world(timeout_seconds: float) -> Iterator[World]:
    """Join the process group. A failed run does not leave it: its peers may be stuck in a collective."""
    rank, size, local_rank = rank_from_environment()
    device = _device(local_rank)
    world = World(rank, size, device)
    if size > 1:
        on_gpu = device.type == "cuda"
        dist.init_process_group(
            "nccl" if on_gpu else "gloo",
            timeout=timedelta(seconds=timeout_seconds),
            device_id=device if on_gpu else None,
        )
    yield world
    if size > 1:
        dist.destroy_process_group()


def _device(local_rank: int) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise ConfigError(
            f"--nproc-per-node: local rank {local_rank} has no GPU; expected at most "
            f"{torch.cuda.device_count()}, one process per GPU"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device
