"""Prints the final errors of several learning rates, and how far two roundings of one training differ.

    python -m benchmarks.learning.rates out/records/learning/learning-rate-h200-9d1bea7

Each file of the folder is the metrics.jsonl of one training. Files that differ only in
speed.accumulation_steps are one training in two roundings.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from statistics import geometric_mean, mean
from typing import NamedTuple

from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.records import unpacked
from trainer.process.terminal import answer


class Ending(NamedTuple):
    val_loss: float
    nrmse: float
    settled_at: int  # the first update whose loss, and all later ones', are below a tenth


class Training(NamedTuple):
    rate: float
    warm_up: int
    seed: int
    micro_steps: int


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    endings: dict[Training, Ending] = {}
    for path in sorted(unpacked(Path(sys.argv[1])).glob("*.jsonl")):
        training, ending = _read(path)
        if training in endings:
            raise SystemExit(f"{path}: another file also has {training}; keep one of them")
        endings[training] = ending
    if not endings:
        raise SystemExit(f"{sys.argv[1]}: has no *.jsonl; name a folder with the metrics of trainings")
    answer("| learning rate | warm-up | seed | NRMSE in one micro-step | in two | apart |")
    answer("| --- | --- | --- | --- | --- | --- |")
    settings = sorted({(training.rate, training.warm_up) for training in endings})
    for rate, warm_up in settings:
        for seed in sorted({t.seed for t in endings if (t.rate, t.warm_up) == (rate, warm_up)}):
            one, two = (endings.get(Training(rate, warm_up, seed, steps)) for steps in (1, 2))
            apart = f"{two.nrmse / one.nrmse - 1:+.1%}" if one and two else "-"
            answer(f"| {rate:g} | {warm_up} | {seed} | {_nrmse(one)} | {_nrmse(two)} | {apart} |")
    answer("")
    answer(
        "| learning rate | warm-up | held-out loss | NRMSE | two roundings apart | below 0.1 from update |"
    )
    answer("| --- | --- | --- | --- | --- | --- |")
    for rate, warm_up in settings:
        of = {training: e for training, e in endings.items() if training[:2] == (rate, warm_up)}
        twice = {t: of.get(t._replace(micro_steps=1)) for t in of if t.micro_steps == 2}
        logs = [math.log(of[t].nrmse / one.nrmse) for t, one in twice.items() if one]
        # Their mean is known to be 0.
        apart = f"{math.sqrt(mean(log**2 for log in logs)):.1%}" if logs else "not run in two roundings"
        answer(
            f"| {rate:g} | {warm_up} | {mean(e.val_loss for e in of.values()):.5f} "
            f"| {geometric_mean(e.nrmse for e in of.values()):.4f} | {apart} "
            f"| {min(e.settled_at for e in of.values())} to {max(e.settled_at for e in of.values())} |"
        )


def _nrmse(ending: Ending | None) -> str:
    return f"{ending.nrmse:.4f}" if ending else "-"


def _read(path: Path) -> tuple[Training, Ending]:
    try:
        return _training(path.read_text().splitlines())
    except (ValueError, KeyError, StopIteration) as error:
        raise SystemExit(f"{path}: is not from a finished training ({error!r}); remove it") from error


def _training(lines: list[str]) -> tuple[Training, Ending]:
    events = [json.loads(line) for line in lines]
    start = next(event for event in events if event["event"] == "run_start")
    end = next(event for event in reversed(events) if event["event"] == "evaluation")
    losses = [loss for event in events if event["event"] == "steps" for loss in event["train_loss"]]
    settled_at = max((n for n, loss in enumerate(losses, 1) if loss >= 0.1), default=0) + 1
    optimizer = start["config"]["optimizer"]
    training = Training(
        optimizer["learning_rate"],
        optimizer["warmup_updates"],
        start["seed"],
        start["config"]["speed"]["accumulation_steps"],
    )
    return training, Ending(end["val_loss"], end["metrics"]["nrmse"], settled_at)


if __name__ == "__main__":
    with refused_in_words():
        main()
