"""Reads from the built model and optimizers what is in effect."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

# The largest integer that JSON readers keep exactly.
_MAX_EXACT = 2**53 - 1
_LIBRARIES = ("transformers", "accelerate", "lightning", "pytorch_lightning", "deepspeed")


def plain_optimizer(optimizer: Any) -> Any:
    """The torch optimizer inside wrappers such as Accelerate's and Lightning's."""
    for _ in range(5):
        inner = getattr(optimizer, "optimizer", None)
        if not isinstance(inner, torch.optim.Optimizer):
            break
        optimizer = inner
    return optimizer


def parameters_of(optimizers: Iterable[Any]) -> list[torch.Tensor]:
    seen: dict[int, torch.Tensor] = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            seen.update((id(parameter), parameter) for parameter in group["params"])
    return list(seen.values())


def parameter_count(parameters: Sequence[torch.Tensor]) -> int | None:
    """None where a parameter is a shard, as FSDP1 makes them: its size depends on the number of ranks."""
    if any(
        type(parameter).__name__ == "FlatParameter" or hasattr(parameter, "_is_flat_param")
        for parameter in parameters
    ):
        return None
    return sum(parameter.numel() for parameter in parameters) or None


def initial_seed() -> int | None:
    seed = torch.initial_seed()
    return seed if seed <= _MAX_EXACT else None


def effective(
    optimizers: Sequence[Any],
    parameters: Sequence[torch.Tensor],
    model: torch.nn.Module | None,
    autocast: set[str],
) -> dict[str, str | bool]:
    facts: dict[str, Callable[[], str | bool]] = {
        "parameter_dtype": lambda: _names(str(p.dtype).removeprefix("torch.") for p in parameters),
        "autocast": lambda: _names(autocast) or False,
        "compiled": lambda: _is_compiled(model),
        "float32_matmul_precision": _float32_matmul_precision,
        "deterministic": torch.are_deterministic_algorithms_enabled,
    }
    if optimizers:
        facts["optimizer"] = lambda: _names(type(optimizer).__name__ for optimizer in optimizers)
        facts["optimizer_fused"] = lambda: _names(_kernel_setting("fused", o) for o in optimizers)
        facts["optimizer_foreach"] = lambda: _names(_kernel_setting("foreach", o) for o in optimizers)
    found = {}
    for name, read in facts.items():
        # What cannot be read is unknown. It is no reason to end somebody's training.
        with contextlib.suppress(Exception):
            found[name] = read()
    return found


_OF_UPDATES = ("lr", "weight_decay", "betas", "momentum", "eps")


def work_of(optimizers: Sequence[Any]) -> dict[str, str]:
    """What an update does, whichever kernel does it: to be read before a schedule changes it."""
    found = {}
    for name in _OF_UPDATES:
        values = [
            # A scheduler keeps what its own is a factor of.
            group["initial_lr"] if name == "lr" and "initial_lr" in group else group[name]
            for optimizer in optimizers
            for group in optimizer.param_groups
            if name in group
        ]
        if values:
            texts = [str(value.item() if isinstance(value, torch.Tensor) else value) for value in values]
            found[f"optimizer_{name}"] = ", ".join(dict.fromkeys(texts))
    return found


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "torch": str(torch.__version__)}
    if torch.version.cuda and torch.cuda.is_available():
        found["cuda"] = torch.version.cuda
    for name in _LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def _float32_matmul_precision() -> str:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        # Set by torch's newer switch, as transformers does: then torch does not answer by the older.
        return str(torch.backends.cuda.matmul.fp32_precision)


def _names(texts: Iterable[str]) -> str:
    return ", ".join(sorted(set(texts)))


def _kernel_setting(name: str, optimizer: Any) -> str:
    """`default` is torch's own choice, which depends on the device."""
    settings = {group.get(name) for group in optimizer.param_groups}
    return _names("default" if setting is None else str(bool(setting)).lower() for setting in settings)


def _is_compiled(model: torch.nn.Module | None) -> bool:
    """Whether torch.compile has made a graph in this process, or wraps the model."""
    utils, frames = (sys.modules.get(f"torch._dynamo.{name}") for name in ("utils", "eval_frame"))
    if utils is not None and utils.counters["stats"].get("unique_graphs", 0) > 0:
        return True
    wrapper = getattr(frames, "OptimizedModule", None)
    return wrapper is not None and model is not None and any(isinstance(m, wrapper) for m in model.modules())
