"""Prints the figures of the recorded gates in README and docs that `speedproof analyze` does not print.

    python -m benchmarks.speed.gate_figures

FLOP utilisation is the GFLOP of the matrix products per pair, times pairs/s, over the peak of all GPUs.
Held-out errors over several gates are printed twice: with each block counted once, and with each seed
counted once by the mean of ln(optimized / baseline) of its blocks, since some gates share seeds. The first
is right if blocks with the same seed are independent, the second if they are correlated. Speedups are as if
each update of the baseline were as fast as the fastest of its run. Bounds are 95% on each side (t interval
of the logarithms).
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from functools import cache
from statistics import mean, stdev
from typing import NamedTuple

from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.metrics_file import events
from benchmarks.harness.recorded_config import recorded_config
from benchmarks.harness.records import RECORDS, unpacked
from benchmarks.speed.speed_cases import MEASURED_TFLOPS
from trainer.errors import ConfigError
from trainer.process.terminal import answer
from trainer.profiling.work import flops_per_pair

GATES = RECORDS / "gate"
SAME_WORK = ["two-task-1gpu", "two-task-2gpu", "two-task-4gpu", "two-task-4gpu-h100"]
GROUPS = {
    "all": SAME_WORK,
    "without H100": ["two-task-1gpu", "two-task-2gpu", "two-task-4gpu"],
    "with a head in float32": ["two-task-2gpu", "two-task-4gpu"],
    "that share four seeds": ["two-task-1gpu", "two-task-4gpu", "two-task-4gpu-h100"],
}
RUN = re.compile(r"\d+-block-(\d+)-(baseline|optimized)")
ERRORS = ["nrmse", "nrmse/advection1d", "nrmse/darcy2d", "rollout_nrmse/advection1d", "rollout_nrmse/darcy2d"]
# Of t with one degree of freedom less, 95% on one side, by the number of values (NIST/SEMATECH e-Handbook,
# 1.3.6.7.2).
T_95 = {4: 2.353, 8: 1.895, 12: 1.796, 16: 1.753}
DATA_SHEET_TFLOPS = 989  # bf16 products of an H100 and an H200, without sparsity


class Block(NamedTuple):
    seed: int
    baseline: list[dict]  # events of its run
    optimized: list[dict]


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    lines = [
        "| held-out error, optimized / baseline | gates | each block once | each seed once |",
        "| --- | --- | --- | --- |",
    ]
    for name in ERRORS:
        for group, gates in GROUPS.items():
            by_block = interval([ratio for _, ratio in errors(gates, name)])
            lines.append(f"| {name} | {group} | {by_block} | {interval(by_seed(gates, name))} |")
    lines += [
        "",
        "| gate | if each update of the baseline were as fast as the fastest of its run |",
        "| --- | --- |",
    ]
    for gate in SAME_WORK:
        speedups = [_seconds(block.baseline, min) / _seconds(block.optimized, mean) for block in blocks(gate)]
        lines.append(f"| {gate} | {interval([math.log(one) for one in speedups])} |")
    lines += [
        "",
        f"| gate | ms an update | of {MEASURED_TFLOPS} TFLOP/s | of {DATA_SHEET_TFLOPS} |",
        "| --- | --- | --- | --- |",
    ]
    for gate in SAME_WORK:
        found = blocks(gate)
        forms = [[block.baseline for block in found], [block.optimized for block in found]]
        seconds = [mean(_seconds(run, mean) for run in runs) for runs in forms]
        flops = [_flops_per_second(runs[0], one) for runs, one in zip(forms, seconds, strict=True)]
        cells = [
            " and ".join(f"{1e3 * one:.1f}" for one in seconds),
            *(
                " and ".join(f"{one / (peak * 1e12):.1%}" for one in flops)
                for peak in (MEASURED_TFLOPS, DATA_SHEET_TFLOPS)
            ),
        ]
        lines.append(f"| {gate} | {' | '.join(cells)} |")
    answer("\n".join(lines))


def by_seed(gates: list[str], name: str) -> list[float]:
    """Of each seed, the mean over gates of ln(optimized / baseline) at the end."""
    found: dict[int, list[float]] = {}
    for seed, ratio in errors(gates, name):
        found.setdefault(seed, []).append(ratio)
    return [mean(ratios) for ratios in found.values()]


def errors(gates: list[str], name: str) -> list[tuple[int, float]]:
    """Of each block, its seed and ln(optimized / baseline) at the end."""
    return [
        (block.seed, math.log(_error(block.optimized, name) / _error(block.baseline, name)))
        for gate in gates
        for block in blocks(gate)
    ]


@cache
def blocks(gate: str) -> list[Block]:
    """ConfigError where a run of a block is not there, or has no start or no end."""
    runs: dict[str, dict[str, list[dict]]] = {}
    folders = sorted(unpacked(GATES / gate / "runs").glob("*"))
    for folder in folders:
        named = RUN.fullmatch(folder.name)
        if named:
            found = [one for file in folder.rglob("metrics.jsonl") for one in events(file, "run_start")]
            if not any(event["event"] == "run_end" for event in found):
                raise ConfigError(
                    f"{folder}: has no metrics with a run_end; run npm run records to unpack it again"
                )
            runs.setdefault(named[1], {})[named[2]] = found
    for number, run in runs.items():
        for variant in ("baseline", "optimized"):
            if not run.get(variant):
                raise ConfigError(
                    f"{GATES / gate}: block {number} has no metrics of its {variant} run; "
                    "run npm run records to unpack it again"
                )
    return [Block(run["baseline"][0]["seed"], run["baseline"], run["optimized"]) for run in runs.values()]


def interval(logs: list[float]) -> str:
    """Bounds are rounded outwards."""
    if len(logs) not in T_95:
        expected = " or ".join(map(str, T_95))
        raise ConfigError(
            f"{GATES}: got {len(logs)} blocks or seeds, expected {expected}; add that number to T_95"
        )
    middle, margin = mean(logs), T_95[len(logs)] * stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(middle - margin), math.exp(middle + margin)
    return (
        f"{math.exp(middle):.3f}x ({math.floor(low * 1e3) / 1e3:.3f}x to {math.ceil(high * 1e3) / 1e3:.3f}x)"
    )


def _error(run: list[dict], name: str) -> float:
    return [event for event in run if event["event"] == "evaluation"][-1]["metrics"][name]


def _seconds(run: list[dict], of: Callable[[list[float]], float]) -> float:
    """Of the updates after the first tenth, as a gate times them."""
    seconds = [second for event in run if event["event"] == "steps" for second in event["step_seconds"]]
    return of(seconds[len(seconds) // 10 :])


def _flops_per_second(run: list[dict], seconds: float) -> float:
    """Of each GPU, in updates that take as long."""
    start = run[0]
    config = recorded_config(start["config"], "metrics.jsonl")
    flops = flops_per_pair(config)["all"] * config.train.pairs_per_update
    return flops / seconds / start["world_size"]


if __name__ == "__main__":
    with refused_in_words():
        main()
