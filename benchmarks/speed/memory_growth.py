"""Does a long training grow? Train, and print host and GPU memory along the way.

python -m benchmarks.speed.memory_growth --config C --out DIR [--set KEY=VALUE]

Under torchrun, every rank watches its own memory. Without train.updates it trains 2,000 updates; a recipe
that cuts or doubles batches changes the number of steps. Exits with 1 if memory grew by more than the limit
after the first quarter of the run.
"""

import argparse
import json
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.machine import commit
from trainer.config import load_config
from trainer.process.ranks import rank_from_environment
from trainer.process.terminal import answer
from trainer.run.training import Progress, run_training

MEBIBYTE = 2**20
SETTLED = 0.25  # of the run: caches, workers and compiled code come before
SAMPLE_SECONDS = 0.25


@dataclass(frozen=True)
class Sample:
    step: int
    host_mebibytes: float  # resident set of this process
    gpu_mebibytes: float  # allocated by torch; 0 without a GPU


def sample(step: int) -> Sample:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    allocated = torch.cuda.memory_allocated() if torch.cuda.is_available() else 0
    return Sample(step, pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE, allocated / MEBIBYTE)


def growth(samples: list[Sample], steps: int) -> tuple[float, float]:
    """Return by how many MiB host and GPU grew: mean of the last quarter minus mean of the second."""
    # A sample of the last step may be of the evaluation behind it.
    second, last = (
        [s for s in samples if start * steps < s.step <= (start + SETTLED) * steps and s.step < steps]
        for start in (SETTLED, 1 - SETTLED)
    )
    if not second or not last:
        raise SystemExit(f"got {len(samples)} samples, which are too few; train more updates")
    host, gpu = (
        _mean([getattr(s, name) for s in last]) - _mean([getattr(s, name) for s in second])
        for name in ("host_mebibytes", "gpu_mebibytes")
    )
    return host, gpu


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--limit-mebibytes", type=float, default=16)
    options = parser.parse_args()
    config = load_config(options.config, ["train.updates=2000", *options.set])
    at_start = commit()  # files may be changed meanwhile
    progress, ended = Progress(), threading.Event()
    samples: list[Sample] = []

    def watch() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            samples.append(sample(progress.step))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    run_training(config, options.out, 0, progress)
    ended.set()
    watcher.join()
    steps = config.cut.steps
    host, gpu = growth(samples, steps)
    rank = rank_from_environment()[0]
    if rank == 0:
        start = json.loads((options.out / "metrics.jsonl").read_text().splitlines()[0])
        answer(f"{', '.join(start['device_names'])}, torch {start['versions']['torch']}, commit {at_start}")
        for shown in samples[:: max(1, len(samples) // 10)]:
            host_now, gpu_now = shown.host_mebibytes, shown.gpu_mebibytes
            answer(f"step {shown.step:5d}  host {host_now:8.1f} MiB  GPU {gpu_now:8.1f} MiB")
    answer(f"rank {rank}: {steps} steps, growth host {host:+.1f} MiB, GPU {gpu:+.1f} MiB")
    return int(max(host, gpu) > options.limit_mebibytes)


if __name__ == "__main__":
    with refused_in_words():
        sys.exit(main())
