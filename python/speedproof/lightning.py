"""The callback for Lightning, under either of the names it is installed by."""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch

from speedproof.recorder import Recorder
from speedproof.run.process_recorder import start_recorder
from speedproof.run.ranks import ranks_by_environment
from speedproof.watch.batches import batch_size, watch
from speedproof.watch.held_out import HeldOutSet

# Names that people log a held-out loss by, the likeliest first.
LOSSES = (
    "val_loss",
    "val/loss",
    "valid_loss",
    "valid/loss",
    "validation_loss",
    "validation/loss",
    "eval_loss",
)


class Hooks:
    """Records a Lightning Trainer's updates, samples, validations and checkpoints."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, loss: str | None = None) -> None:
        """folder: by default what SPEEDPROOF_RECORD names. loss: the name under which it is logged."""
        super().__init__()
        self._folder = folder
        self._losses = (loss,) if loss else LOSSES
        self._recorder: Recorder | None = None
        self._updates = 0
        self._samples: int | None = 0
        self._loss: torch.Tensor | None = None
        self._held_out = HeldOutSet()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._recorder = start_recorder(
            self._folder,
            model=pl_module,
            optimizer=trainer.optimizers,
            device=pl_module.device,
        )
        if self._recorder is None:
            return
        started = ranks_by_environment()[1]
        if trainer.world_size != started:
            self._recorder.refuse(
                f"{started} processes were started, but Lightning trains on {trainer.world_size} of its own "
                f"in each. Give the Trainer devices={started} and a strategy such as ddp"
            )
            self._recorder = None
            return
        self._updates = trainer.global_step
        self._take_checkpoints_out(trainer)
        # Each validation begins its loaders before it calls anything here.
        for loader in _as_list(trainer.val_dataloaders):
            if loader is not trainer.train_dataloader:
                watch(loader, self._held_out.see)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if not self._recorder:
            return
        size = batch_size(batch)
        self._samples = None if size is None or self._samples is None else self._samples + size
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if isinstance(loss, torch.Tensor):  # Lightning has divided it by the number of accumulated batches
            self._loss = loss.detach() if self._loss is None else self._loss + loss.detach()
        if trainer.global_step > self._updates:  # which counts each optimizer
            self._updates = trainer.global_step
            self._recorder.step(self._samples, self._loss)
            self._samples, self._loss = (None if self._samples is None else 0), None

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._recorder and not trainer.sanity_checking:
            self._recorder.pause()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not self._recorder or trainer.sanity_checking:
            self._held_out.clear()
            return
        numbers = {name: float(value) for name, value in trainer.callback_metrics.items()}
        loss = next((name for name in self._losses if name in numbers), None)
        if loss is None:
            self._held_out.clear()
            self._recorder.resume()
        else:
            rest = {name: value for name, value in numbers.items() if name.startswith("val") and name != loss}
            self._recorder.evaluate_all(numbers[loss], rest, self._held_out)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The record is closed at the end of the process: scripts validate after Trainer.fit()."""
        if self._recorder:
            self._recorder.end_steps()

    def _take_checkpoints_out(self, trainer: Any) -> None:
        """No hook tells the end of one, and ModelCheckpoint comes after all other callbacks."""
        save, recorder = trainer.save_checkpoint, self._recorder
        assert recorder is not None

        def save_outside_of_steps(*args: Any, **kwargs: Any) -> None:
            with recorder.phase("checkpoint"):
                save(*args, **kwargs)

        trainer.save_checkpoint = save_outside_of_steps


def callback_class(package: str) -> type:
    """The class for one of Lightning's packages, lightning.pytorch or pytorch_lightning."""
    base = importlib.import_module(package).Callback
    return type("Callback", (Hooks, base), {"__module__": __name__, "__doc__": Hooks.__doc__})


def lightning_callbacks() -> list[Any]:
    """For the entry points of Lightning, which asks for them with each Trainer."""
    return _installed("lightning.pytorch")


def pytorch_lightning_callbacks() -> list[Any]:
    return _installed("pytorch_lightning")


def _installed(package: str) -> list[Any]:
    return [callback_class(package)()] if os.environ.get("SPEEDPROOF_RECORD") else []


def _as_list(loaders: Any) -> list[Any]:
    return list(loaders) if isinstance(loaders, (list, tuple)) else [] if loaders is None else [loaders]


def __getattr__(name: str) -> Any:
    """`Callback`, for the package that is installed; the newer name first."""
    if name != "Callback":
        raise AttributeError(f"module 'speedproof.lightning' has no attribute {name!r}")
    for package in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return callback_class(package)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError("speedproof.lightning.Callback needs lightning or pytorch-lightning.")
