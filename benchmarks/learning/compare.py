"""Train a config on one GPU, then a library FNO on each of its tasks for the time that all of them took.

    python -m benchmarks.learning.compare --config configs/train/two-task-1gpu-baseline.yaml --out DIR

Needs `pip install --group benchmarks/pyproject.toml:benchmarks`. Writes numbers.json, learning-curve.png and
fields.png.
Under `unfinished` numbers.json names the tasks whose FNO had not been trained when it ended.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import torch

from benchmarks.harness.in_words import refused_in_words
from benchmarks.learning.fields import example_fields
from benchmarks.learning.fno import train_fno
from benchmarks.learning.pictures import draw_curves, draw_fields
from benchmarks.learning.run import options_of, trained
from trainer.config import load_config
from trainer.data.splits import open_data
from trainer.process.terminal import answer
from trainer.process.world import open_world


def main() -> int:
    options = options_of(sys.modules[__name__], None)
    curve = trained(options)
    seconds = curve["evaluations"][-1]["training_seconds"]
    config = load_config(options.config, options.set)
    rivals: dict[str, list[dict[str, float]]] = {}
    versions = {"neuraloperator": version("neuraloperator"), "torch": torch.__version__}
    numbers = {"versions": versions, "trainer": curve, "equal_seconds": seconds, "fno": rivals}
    with open_world(config.train.timeout_seconds) as world:
        data = open_data(config)
        for task in config.data.tasks:
            rivals[f"FNO for {task}"] = []
            for row in train_fno(config, data, task, seconds, options.seed, world):
                rivals[f"FNO for {task}"].append(row)
                done, error = row["training_seconds"], row[f"nrmse/{task}"]
                answer(f"FNO {task}: {done:.1f} s, NRMSE {error:.4f}")
            # After each: a sitting on a lent GPU can end before the last.
            numbers["unfinished"] = [task for task in config.data.tasks if f"FNO for {task}" not in rivals]
            partial = options.out / "numbers.json.partial"
            partial.write_text(json.dumps(numbers, indent=2) + "\n")
            partial.replace(options.out / "numbers.json")
    answer(comparison(curve, rivals))
    draw_curves({"trainer": curve["evaluations"], **rivals}, options.out / "learning-curve.png")
    draw_fields(example_fields(options.out / "checkpoint.pt"), options.out / "fields.png")
    return 0


def comparison(curve: dict, rivals: dict[str, list[dict[str, float]]]) -> str:
    """One line per task: persistence, FNO, trainer."""
    last = curve["evaluations"][-1]
    titles = ("persistence MSE", "FNO MSE", "trainer MSE", "FNO NRMSE", "trainer NRMSE")
    lines = [" ".join([f"{'task':12}", *(f"{title:>15}" for title in titles)])]
    for model, rows in rivals.items():
        task, end = model.removeprefix("FNO for "), rows[-1]
        squares = [last[f"persistence_loss/{task}"], end[f"val_loss/{task}"], last[f"val_loss/{task}"]]
        relative = [end[f"nrmse/{task}"], last[f"nrmse/{task}"]]
        numbers = [*(f"{value:15.3e}" for value in squares), *(f"{value:15.4f}" for value in relative)]
        lines.append(" ".join([f"{task:12}", *numbers]))
    return "\n".join(lines)


if __name__ == "__main__":
    with refused_in_words():
        sys.exit(main())
