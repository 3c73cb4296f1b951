"""How many operations both passes of a micro-step launch, by where they come from; needs no GPU.

    python -m benchmarks.speed.step_operations --config configs/train/two-task-1gpu-recipe.yaml

A small step waits for launches, not for computing. The eager form is counted on tensors without data. Views
launch nothing. Every other operation counts as one, even if it launches several kernels, such as a product
that a library splits, or our operators with their own products (feed_forward, decoder_tail). torch's
attention is one with any back end. Wrapper and optimizer are left out: without a GPU, operations on lists
are single ones.
"""

from __future__ import annotations

import argparse
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.harness.in_words import refused_in_words
from trainer.build import build_choices, build_model, build_objective
from trainer.config import Config, load_config
from trainer.contracts.term import EVERYTHING
from trainer.data.batches.batch import Batch, part_sizes
from trainer.data.conditions import condition_size
from trainer.data.tasks import TASKS
from trainer.kernels.custom_op import VERSION
from trainer.process.terminal import answer
from trainer.switches.model import put_on_model
from trainer.switches.precision import product_format

OWN_CODE = str(Path(__file__).parents[2] / "trainer")
# They give another view of what is there, or room for something.
LAUNCH_NOTHING = {
    "view",
    "_unsafe_view",
    "t",
    "transpose",
    "permute",
    "expand",
    "unsqueeze",
    "squeeze",
    "select",
    "slice",
    "alias",
    "detach",
    "split",
    "split_with_sizes",
    "chunk",
    "as_strided",
    "unbind",
    "unfold",
    "lift_fresh",
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "device",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    answer(table(operations(load_config(options.config, options.set))))


@dataclass
class Operations(TorchDispatchMode):
    """Notes what is dispatched in its context, by (pass, place) and by name."""

    by_place: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_name: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        name = function.name().split("::")[-1].split(".")[0]
        if name not in LAUNCH_NOTHING:
            self.by_name[name] += 1
            self.by_place[_place()] += 1
        return function(*arguments, **(keywords or {}))


def _place() -> tuple[str, str]:
    """Forward: the innermost file of ours; backward: the step of autograd, which knows no more."""
    if node := torch._C._current_autograd_node():
        name = node.name().removeprefix("GeneratedBackwardFor_speedproof_")
        return "backward", name.split(f"_{VERSION}")[0]
    ours = [call.filename for call in traceback.extract_stack() if call.filename.startswith(OWN_CODE)]
    return "forward", str(Path(ours[-1]).relative_to(OWN_CODE)) if ours else "torch"


def operations(config: Config) -> Operations:
    """Those of a micro-step with all terms, on one GPU."""
    objective = build_objective(build_model(config), config)
    attention = config.speed.attention if config.speed.attention == "one-tile" else "auto"
    put_on_model(objective, replace(config.speed, compile="off", attention=attention))
    with FakeTensorMode(allow_non_fake_inputs=True):
        _empty(objective)
        batch = _batch(config)
        parameters = [p for p in objective.parameters() if p.requires_grad]
        with Operations() as counted:
            inputs = build_choices(config, 0).inputs(torch.zeros((), dtype=torch.long), batch.pair)
            formats = product_format(config.speed.precision, torch.device("cpu"))
            with formats:
                loss = objective(batch, inputs, EVERYTHING)
            torch.autograd.grad(loss, parameters)
    return counted


def _empty(module: nn.Module) -> None:
    """Put tensors without data in the place of all that it has."""
    made: dict[Tensor, Tensor] = {}  # some belong to two modules
    for part in module.modules():
        for owner in (part._parameters, part._buffers):
            for name, tensor in owner.items():
                if tensor is not None and tensor not in made:
                    made[tensor] = torch.empty_like(tensor, requires_grad=tensor.requires_grad)
                    if isinstance(tensor, nn.Parameter):
                        made[tensor] = nn.Parameter(made[tensor].detach(), tensor.requires_grad)
                owner[name] = None if tensor is None else made[tensor]


def _batch(config: Config) -> Batch:
    pairs = config.step_pairs // config.speed.accumulation_steps
    sizes = part_sizes(pairs, config.task_shares)
    tasks = [
        (size, TASKS[name], grid) for size, (name, grid) in zip(sizes, config.grids.items(), strict=True)
    ]
    return Batch(
        torch.zeros(pairs, dtype=torch.long),
        tuple(torch.empty(size, len(task.given), *grid) for size, task, grid in tasks),
        tuple(torch.empty(size, len(task.target), *grid) for size, task, grid in tasks),
        torch.empty(pairs, condition_size(config.data.tasks)),
    )


def table(counted: Operations) -> str:
    lines = [f"{counted.by_name.total():6} operations"]
    lines += [f"{count:6} {pass_:8} {place}" for (pass_, place), count in counted.by_place.most_common()]
    lines += ["by name:", *(f"{count:6} {name}" for name, count in counted.by_name.most_common())]
    return "\n".join(lines)


if __name__ == "__main__":
    with refused_in_words():
        main()
