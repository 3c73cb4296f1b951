"""Steps that warm something up and must not train: everything that learns is put back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from trainer.run.step.learner import Learner


@contextmanager
def rolled_back(learner: Learner) -> Iterator[None]:
    """Put weights, averages, optimizer state and loss scale back in place: a graph holds their addresses.

    Optimizer state that did not exist before is zeroed, which is what a first step starts from.
    """
    before = {name: tensor.clone() for name, tensor in _state(learner).items()}
    scale = learner.scaled_step.state_dict()
    yield
    learner.scaled_step.load_state_dict(scale)
    with torch.no_grad():
        for name, tensor in _state(learner).items():
            if name in before:
                tensor.copy_(before[name])
            else:
                tensor.zero_()


def _state(learner: Learner) -> dict[str, Tensor]:
    """Every tensor that a step changes, the very objects."""
    tensors = {f"model.{name}": p.detach() for name, p in learner.model.named_parameters()}
    tensors |= {f"ema.{name}": average for name, average in learner.ema.state_dict().items()}
    for name, state in learner.optimizer.state_dict().items():
        tensors |= {f"optimizer.{name}.{key}": tensor for key, tensor in state.items()}
    return tensors
