"""Switches recording on in a process, before it has imported what is to be watched."""

from __future__ import annotations

import atexit
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

# The process that `python -m speedproof.record` became, by its id.
ROOT = "SPEEDPROOF_RECORD_ROOT"


def switch_on(folder: str) -> None:
    """Record into the folder whatever this process trains."""
    if os.environ.get(ROOT) == str(os.getpid()):
        atexit.register(_explain_nothing, folder)
    actions = {"torch": lambda module: _install_hook(folder), "transformers.trainer": _install_callback}
    for name in list(actions):
        if name in sys.modules:
            actions.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, _AfterImport(actions, lambda reason: _refuse(folder, reason)))


class _AfterImport(importlib.abc.MetaPathFinder):
    def __init__(
        self, actions: dict[str, Callable[[ModuleType], None]], refuse: Callable[[str], None]
    ) -> None:
        self._actions, self._refuse = actions, refuse

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        action = self._actions.pop(name, None)  # so that the search below passes by here
        spec = importlib.util.find_spec(name) if action else None
        if action is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            execute(module)
            try:
                action(module)
            except Exception as error:  # of a version that lacks what is watched; the training goes on
                self._refuse(f"{name} {getattr(module, '__version__', '')} cannot be watched: {error!r}")

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def _install_hook(folder: str) -> None:
    from speedproof.watch import hook

    hook.install(folder)


def _install_callback(module: ModuleType) -> None:
    """Into the list from which every Trainer starts its callbacks."""
    callbacks = getattr(module, "DEFAULT_CALLBACKS", None)
    if isinstance(callbacks, list):
        from speedproof.huggingface import Callback

        callbacks.append(Callback)
    else:
        _refuse_trainers(module)


def _refuse_trainers(module: ModuleType) -> None:
    version = getattr(sys.modules.get("transformers"), "__version__", "of an unknown version")
    construct = module.Trainer.__init__

    def construct_and_refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        from speedproof.watch import hook

        construct(self, *args, **kwargs)
        if hook.active is not None:
            hook.active.refuse(
                f"transformers {version} has no trainer.DEFAULT_CALLBACKS. "
                "Add speedproof.huggingface.Callback() to the callbacks of the Trainer"
            )

    module.Trainer.__init__ = construct_and_refuse


def _explain_nothing(folder: str) -> None:
    """The last word of the script that was to be recorded, if no process of it has recorded anything."""
    _refuse(folder, "no process of this script took an optimizer step that torch tells of")


def _refuse(folder: str, reason: str) -> None:
    from speedproof.run.metrics_file import NAME, write_reason

    if not (Path(folder) / NAME).exists():
        sys.stderr.write(f"speedproof: not measured: {reason}\n")
        write_reason(Path(folder), reason)
