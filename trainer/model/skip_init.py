"""A model whose weights are loaded next, made without drawing them first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import nn
from torch.overrides import TorchFunctionMode


class SkipInit(TorchFunctionMode):
    """Under it weights stay what their memory holds, for as far as torch.nn.init lets itself be overridden.

    It does in what nn.Linear and LayerNorm use, and draws as ever in some of the rest. A mode of a lower
    level would cover all of it, but import torch._dynamo, which takes seconds.
    """

    def __torch_function__(
        self,
        function: Callable,
        types: Sequence[type],
        arguments: Sequence[object] = (),
        options: Mapping[str, object] | None = None,
    ) -> object:
        options = options or {}
        if getattr(function, "__module__", "") != nn.init.__name__:
            return function(*arguments, **options)
        return options["tensor"] if "tensor" in options else arguments[0]  # as those that fill in place do
