"""Compares fp16 with bf16, and both with the baseline, seed by seed.

    python -m benchmarks.learning.formats out/g/formats

The folder has FORM-SEED/metrics.jsonl of trainings that `benchmarks/on-gpus.sh OUT formats` makes; the forms
are `baseline`, `optimized-bf16`, `optimized-fp16`, `recipe-bf16` and `recipe-fp16`. Ratios are means of
ln(ratio) over the seeds that both forms have, and their standard error, so that a seed's own luck cancels.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.metrics_file import events
from benchmarks.harness.records import unpacked
from benchmarks.learning.recipes import reached
from trainer.errors import ConfigError
from trainer.process.terminal import answer

NAME = re.compile(r"(baseline|(?:optimized|recipe)-(?:bf16|fp16))-(\d+)")
PAIRS = [
    ("optimized-bf16", "baseline"),
    ("optimized-fp16", "baseline"),
    ("optimized-fp16", "optimized-bf16"),
    ("recipe-fp16", "recipe-bf16"),
]


class Training(NamedTuple):
    step_milliseconds: float  # mean of the later half
    val_loss: float
    nrmse: dict[str, float]  # by task
    skipped_updates: int
    events: list[dict]


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    answer(report(_trainings(unpacked(Path(sys.argv[1])))))


def report(trainings: dict[tuple[str, int], Training]) -> str:
    tasks = sorted({task for training in trainings.values() for task in training.nrmse})
    nrmse_of = [(f"NRMSE {task}", lambda training, task=task: training.nrmse[task]) for task in tasks]
    columns: list[tuple[str, Callable[[Training], float]]] = [
        ("ms a step", lambda training: training.step_milliseconds),
        ("held-out loss", lambda training: training.val_loss),
        *nrmse_of,
    ]
    head = f"| form | seeds | {' | '.join(name for name, _ in columns)} | skipped updates |"
    lines = [head, f"| --- | --- |{' --- |' * (len(columns) + 1)}"]
    for form in dict.fromkeys(name for pair in PAIRS for name in reversed(pair)):
        of_form = [training for (name, _), training in trainings.items() if name == form]
        if of_form:
            cells = [f"{mean(value(training) for training in of_form):.4g}" for _, value in columns]
            skipped = sorted({training.skipped_updates for training in of_form})
            lines.append(
                f"| {form} | {len(of_form)} | {' | '.join(cells)} | {', '.join(map(str, skipped))} |"
            )
    lines += ["", f"| ratio | seeds | {' | '.join(name for name, _ in columns)} |"]
    lines.append(f"| --- | --- |{' --- |' * len(columns)}")
    for one, other in PAIRS:
        seeds = _common_seeds(trainings, one, other)
        if seeds:
            both = [(trainings[one, seed], trainings[other, seed]) for seed in seeds]
            cells = [ratio([value(a) / value(b) for a, b in both]) for _, value in columns]
            lines.append(f"| {one} / {other} | {len(seeds)} | {' | '.join(cells)} |")
    lines += [
        "",
        "| seconds of steps until as good as the baseline of the same seed | seeds | in all | in each |",
    ]
    lines.append("| --- | --- | --- | --- |")
    return "\n".join([*lines, *_times_to_quality(trainings)])


def _times_to_quality(trainings: dict[tuple[str, int], Training]) -> list[str]:
    """Of both recipes, where the one with the other format got there too."""
    found: dict[str, dict[int, tuple[float | None, float | None]]] = {}
    for form in ("recipe-bf16", "recipe-fp16"):
        found[form] = {}
        for seed in _common_seeds(trainings, form, "baseline"):
            baseline = trainings["baseline", seed]
            metrics = _last_evaluation(baseline.events)["metrics"]
            each = {task: metrics[f"val_loss/{task}"] for task in baseline.nrmse}
            times = reached(trainings[form, seed].events, baseline.val_loss, each)
            found[form][seed] = (times.training_seconds, times.each_seconds)
    lines = []
    for form, by_seed in found.items():
        cells = []
        for which in (0, 1):
            times = [times[which] for times in by_seed.values()]
            in_time = [seconds for seconds in times if seconds is not None]
            text = f"{mean(in_time):.2f}" if in_time else "never"
            cells.append(text if len(in_time) == len(times) else f"{text} by {len(in_time)} of {len(times)}")
        if by_seed:
            lines.append(f"| {form} | {len(by_seed)} | {' | '.join(cells)} |")
    seeds = sorted(found["recipe-bf16"].keys() & found["recipe-fp16"].keys())
    cells = []
    for which in (0, 1):
        pairs = [(found["recipe-fp16"][seed][which], found["recipe-bf16"][seed][which]) for seed in seeds]
        ratios = [fp16 / bf16 for fp16, bf16 in pairs if fp16 and bf16]
        cells.append(
            ratio(ratios) + ("" if len(ratios) == len(seeds) else f" by {len(ratios)} of {len(seeds)}")
        )
    return [*lines, f"| recipe-fp16 / recipe-bf16 | {len(seeds)} | {' | '.join(cells)} |"] if seeds else lines


def ratio(ratios: list[float]) -> str:
    """The geometric mean, and the standard error of the mean of the logarithms."""
    if not ratios:
        return "not measured"
    logs = [math.log(one) for one in ratios]
    error = f" +- {stdev(logs) / math.sqrt(len(logs)):.1%}" if len(logs) > 1 else ""
    return f"{math.exp(mean(logs)):.4g}x{error}"


def _common_seeds(trainings: dict[tuple[str, int], Training], one: str, other: str) -> list[int]:
    return sorted(seed for form, seed in trainings if form == one and (other, seed) in trainings)


def _trainings(folder: Path) -> dict[tuple[str, int], Training]:
    """The finished trainings; ConfigError if the folder has no such training."""
    found = {}
    for path in sorted(folder.glob("*/metrics.jsonl")):
        match, of_run = NAME.fullmatch(path.parent.name), events(path, first="run_start")
        if match and any(event["event"] == "run_end" for event in of_run):
            found[match[1], int(match[2])] = _training(of_run)
    if not found:
        raise ConfigError(
            f"{folder}: has no FORM-SEED/metrics.jsonl of a finished training. "
            "Name the folder that benchmarks/on-gpus.sh OUT formats wrote"
        )
    return found


def _training(of_run: list[dict]) -> Training:
    steps = [seconds for event in of_run if event["event"] == "steps" for seconds in event["step_seconds"]]
    last = _last_evaluation(of_run)
    prefix = "nrmse/"
    nrmse = {
        key.removeprefix(prefix): value for key, value in last["metrics"].items() if key.startswith(prefix)
    }
    skipped = next(event["skipped_updates"] for event in of_run if event["event"] == "run_end")
    return Training(1e3 * mean(steps[len(steps) // 2 :]), last["val_loss"], nrmse, skipped, of_run)


def _last_evaluation(of_run: list[dict]) -> dict:
    return [event for event in of_run if event["event"] == "evaluation"][-1]


if __name__ == "__main__":
    with refused_in_words():
        main()
