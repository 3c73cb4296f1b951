"""What each number format costs a trained model: its errors, and the gradient of its last update.

    python -m benchmarks.learning.rounding out/run/checkpoint.pt

Prints a table. All forms evaluate the same weights. Their gradients are for the pairs and random choices of
the training's last update, compared with the float32 gradient, relative to its norm. `another update` is the
float32 gradient for the pairs of the previous update. The forms with our kernels need a GPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.harness.ending import end_by_exception
from benchmarks.harness.in_words import refused_in_words
from trainer.build import build_choices, build_model, build_objective
from trainer.config.schema import Config, SpeedConfig
from trainer.contracts.term import EVERYTHING
from trainer.data.batches.feed import Share, open_feed
from trainer.errors import ConfigError
from trainer.process.terminal import answer
from trainer.run.checkpoint.files import read_checkpoint
from trainer.run.evaluation.command import OpenedCheckpoint, opened_checkpoint
from trainer.run.evaluation.one_step import Evaluator, HeldOutErrors
from trainer.switches.model import put_on_model
from trainer.switches.model.attention.back_ends import attention_back_end
from trainer.switches.precision import product_format

MOST_PARTS = 6  # 128 of 768 pairs at a time fit 80 GB in float32
LOSS_SCALE = 2.0**13  # of every form alike: fp16's small gradients would vanish
KERNELS = {"attention": "one-tile", "cross_attention": "one-tile", "fused_pointwise": True}
PLAIN_FORMS = {name: {"precision": name} for name in ("fp32", "fp16", "bf16")}
FUSED_FORMS = {f"{name}, our kernels": {"precision": name, **KERNELS} for name in ("fp16", "bf16")}


class Row(NamedTuple):
    form: str
    errors: HeldOutErrors | None
    off: float | None  # the gradient, relative to that in float32


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT")
    parser.add_argument("--data-root", help="folder of the data, if the data have moved")
    parser.add_argument(
        "--micro-steps",
        type=int,
        metavar="N",
        help=f"parts of the update, to save memory (default: the largest divisor up to {MOST_PARTS})",
    )
    options = parser.parse_args()
    end_by_exception()
    with refused_in_words(), opened_checkpoint(options.checkpoint, options.data_root) as opened:
        require_finite(opened, options.checkpoint)
        seed = read_checkpoint(options.checkpoint)["seed"]
        micro_steps = dividing(opened.config, options.micro_steps)
        tasks = opened.config.data.tasks
        head = ["form", *(f"loss of {task}" for task in tasks), *(f"NRMSE of {task}" for task in tasks)]
        answer(f"| {' | '.join([*head, 'gradient off'])} |\n|{' --- |' * (len(head) + 1)}")
        for form, errors, off in rows_of(opened, micro_steps, seed):
            found = [] if errors is None else [errors.tasks[task] for task in tasks]
            cells = [f"{one.val_loss:.3e}" for one in found] + [f"{one.nrmse:.5f}" for one in found]
            last = "" if off is None else f"{off:.1%}"
            answer(f"| {' | '.join([form, *(cells or [''] * 2 * len(tasks)), last])} |")


def require_finite(opened: OpenedCheckpoint, path: Path) -> None:
    """ConfigError for weights of which every number would be NaN."""
    for name, tensor in opened.weights[opened.config.judged_weights].items():
        if not tensor.isfinite().all():
            raise ConfigError(
                f"{path}: {name} has values that are not finite; name a checkpoint of a successful training"
            )


def dividing(config: Config, asked: int | None) -> int:
    """Parts of the last update; ConfigError where those asked for do not divide it."""
    pairs = config.step_pairs
    found = [parts for parts in range(1, pairs + 1) if pairs % parts == 0]
    if asked is None:
        return max(parts for parts in found if parts <= MOST_PARTS)
    if asked not in found:
        allowed = ", ".join(map(str, found))
        raise ConfigError(
            f"--micro-steps: got {asked}, expected one of {allowed}, the divisors of {pairs} pairs per update"
        )
    return asked


def rows_of(opened: OpenedCheckpoint, micro_steps: int, seed: int) -> Iterator[Row]:
    """The forms one after another, the reference first."""
    forms = PLAIN_FORMS | (FUSED_FORMS if opened.world.device.type == "cuda" else {})
    last = opened.config.cut.steps
    configs = {name: in_form(opened.config, changes, micro_steps) for name, changes in forms.items()}
    exact = gradient(configs["fp32"], opened, last, seed)
    for name, config in configs.items():
        off = None if name == "fp32" else _off(gradient(config, opened, last, seed), exact)
        yield Row(name, held_out_errors(config, opened), off)
    if last > 1:
        another = gradient(configs["fp32"], opened, last - 1, seed)
        yield Row("fp32, another update", None, _off(another, exact))


def in_form(config: Config, changes: dict[str, object], micro_steps: int) -> Config:
    """The training's config with every switch off but those of the form."""
    speed = SpeedConfig(data_path="resident", accumulation_steps=micro_steps)
    return replace(config, speed=replace(speed, **changes))


def held_out_errors(config: Config, opened: OpenedCheckpoint) -> HeldOutErrors:
    """What an evaluation finds that computes as the form's updates do, where ours is plain and in float32."""
    evaluator = Evaluator(config, opened.data.held_out, opened.world)
    put_on_model(build_objective(evaluator.model, config).to(opened.world.device), config.speed)
    with _computing(config, opened.world.device):
        return evaluator.errors(opened.weights[opened.config.judged_weights])


def gradient(config: Config, opened: OpenedCheckpoint, step: int, seed: int) -> Tensor:
    """Of the whole update, all parameters one behind the other, float64 on the host."""
    device, train = opened.world.device, opened.data.train
    model = build_model(config).to(device)
    objective = build_objective(model, config).to(device)
    put_on_model(objective, config.speed)
    model.load_state_dict(opened.weights[opened.config.judged_weights])
    micro_steps, choices = config.speed.accumulation_steps, build_choices(config, seed)
    schedule = train.schedule(config.train.pairs_per_update, seed, cut_into=config.cut.cut_into)
    feed = open_feed(train, Share(schedule, 0, 1, micro_steps), step, config.speed, device)
    for batch in feed.update(step):
        with _computing(config, device):
            loss = objective(batch, choices.inputs(step, batch.pair), EVERYTHING) / micro_steps
        (LOSS_SCALE * loss).backward()
    feed.close()
    # 0 for a parameter that no term reaches.
    found = (torch.zeros_like(part) if part.grad is None else part.grad for part in model.parameters())
    return torch.cat([part.flatten().double().cpu() for part in found]) / LOSS_SCALE


@contextmanager
def _computing(config: Config, device: torch.device) -> Iterator[None]:
    """As the form's updates do: number format and attention back end."""
    with attention_back_end(config.speed.attention), product_format(config.speed.precision, device):
        yield


def _off(found: Tensor, exact: Tensor) -> float:
    return ((found - exact).norm() / exact.norm()).item()


if __name__ == "__main__":
    main()
