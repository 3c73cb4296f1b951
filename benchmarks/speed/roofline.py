"""How far the operator and the decoder are from what the GPU could do, from recorded trainings.

    python -m benchmarks.speed.roofline --operator OPERATOR.jsonl --whole WHOLE.jsonl

OPERATOR is from a training of the operator alone, WHOLE from one of the same operator with its decoder. The
difference in time for equal pairs is the decoder's. The roofline of a part is the time of its matrix
products: for each the longer of its time at the peak of the GPU, and the time to move its factors and
result through memory in 16 bits. Attention keeps its scores on chip. All other work counts as free, so no
code reaches it.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.module_tracker import ModuleTracker

from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.recorded_config import recorded_config
from benchmarks.harness.records import unpacked
from benchmarks.speed.speed_cases import MEASURED_TFLOPS, pairs_per_second
from trainer.config import Config
from trainer.process.terminal import answer
from trainer.profiling.work import PARTS, module_of, pass_without_data

# Of an H200, measured.
PEAK_FLOPS = MEASURED_TFLOPS * 1e12
PEAK_BYTES_PER_SECOND = 4.3e12  # of copies, what is read and what is written
BYTES_OF_NUMBER = 2
ATEN = torch.ops.aten


@dataclass(frozen=True)
class Bound:
    """Of one part, seconds for the pairs of an update on one GPU."""

    flops: float
    roofline_seconds: float

    @property
    def product_seconds(self) -> float:
        return self.flops / PEAK_FLOPS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--operator", type=Path, required=True, help="metrics.jsonl of a training of the operator alone"
    )
    parser.add_argument(
        "--whole", type=Path, required=True, help="metrics.jsonl of a training of operator and decoder"
    )
    options = parser.parse_args()
    operator, whole = (Measured.of(unpacked(file)) for file in (options.operator, options.whole))
    for option, measured, trained in (("--operator", operator, "operator"), ("--whole", whole, "all")):
        if (got := measured.config.model.trained) != trained:
            raise SystemExit(
                f"{option}: was trained with model.trained {got}; name a training with {trained}"
            )
    for key in ("model width and depth", "kinds of GPU", "compile, graph, kernels and format"):
        if (one := operator.same(key)) != (other := whole.same(key)):
            raise SystemExit(
                f"--operator and --whole: their {key} differ, {one} and {other}; "
                "name two trainings with equal settings on equal GPUs"
            )
    operator_seconds = operator.seconds * whole.pairs / operator.pairs
    seconds = {"operator": operator_seconds, "decoder": whole.seconds - operator_seconds}
    answer(table(bounds(whole.config, whole.pairs), seconds, whole.pairs))


def bounds(config: Config, pairs: int) -> dict[str, Bound]:
    """By part, of one micro-step with all pairs."""
    with Products() as products:
        found = pass_without_data(config, pairs // sum(config.task_shares))
    if found != pairs:
        raise SystemExit(f"--whole: {pairs} pairs per GPU cannot be shared by tasks as {config.task_shares}")
    return {part: Bound(products.flops[part], products.seconds[part]) for part in PARTS}


class Products(TorchDispatchMode):
    """Notes the matrix products that are made while it is on, by the part of the model that makes them."""

    def __init__(self) -> None:
        super().__init__()
        self.flops: dict[str, float] = defaultdict(float)
        self.seconds: dict[str, float] = defaultdict(float)
        self.modules = ModuleTracker()

    def __enter__(self) -> Products:
        self.modules.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.modules.__exit__(*error)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function in (ATEN.mm.default, ATEN.addmm.default, ATEN.bmm.default):
            left, right = args[-2:]
            flops = 2 * left.numel() * right.shape[-1]
            through_memory = (
                0 if function is ATEN.bmm.default else left.numel() + right.numel() + result.numel()
            )
            part = next((part for part in PARTS if module_of(part) in self.modules.parents), "rest")
            self.flops[part] += flops
            self.seconds[part] += max(
                flops / PEAK_FLOPS, through_memory * BYTES_OF_NUMBER / PEAK_BYTES_PER_SECOND
            )
        return result


@dataclass(frozen=True)
class Measured:
    """A recorded training."""

    config: Config
    pairs: int  # of an update, on one GPU
    seconds: float  # of an update
    devices: tuple[str, ...]

    def same(self, key: str) -> object:
        model, speed = self.config.model, self.config.speed
        return {
            "kinds of GPU": self.devices,
            "model width and depth": (model.tokens, model.latent_dim, model.hidden_dim, model.depth),
            "compile, graph, kernels and format": (
                speed.compile,
                speed.cuda_graph,
                speed.fused_pointwise,
                speed.precision,
            ),
        }[key]

    @staticmethod
    def of(path: Path) -> Measured:
        try:
            events = [json.loads(line) for line in path.read_text().splitlines()]
            start, speed = events[0], pairs_per_second(events)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise SystemExit(f"{path}: cannot be read as metrics.jsonl of a training ({error!r})") from error
        if speed is None:
            raise SystemExit(
                f"{path}: its training did not end, or it has no times; name the file of a finished training"
            )
        config = recorded_config(start["config"], str(path))
        pairs = config.train.pairs_per_update // start["world_size"]
        return Measured(
            config, pairs, pairs * start["world_size"] / speed, tuple(sorted(set(start["device_names"])))
        )


def table(bounds: dict[str, Bound], seconds: dict[str, float], pairs: int) -> str:
    both = Bound(
        *(sum(getattr(bounds[part], key) for part in seconds) for key in ("flops", "roofline_seconds"))
    )
    rows = [
        ("ms for", f"{pairs} pairs"),
        ("part", "GFLOP/pair", "products", "roofline", "measured", "of roofline"),
    ]
    for part, bound, measured in [
        *((part, bounds[part], seconds[part]) for part in seconds),
        ("both", both, sum(seconds.values())),
    ]:
        milliseconds = (bound.product_seconds, bound.roofline_seconds, measured)
        share = f"{bound.roofline_seconds / measured:.0%}"
        rows.append(
            (part, f"{bound.flops / pairs / 1e9:.1f}", *(f"{1e3 * one:.1f}" for one in milliseconds), share)
        )
    return "\n".join("".join(cell.ljust(13) for cell in row).rstrip() for row in rows)


if __name__ == "__main__":
    with refused_in_words():
        main()
