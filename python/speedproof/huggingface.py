"""The callback for Hugging Face's Trainer."""

from __future__ import annotations

import os
import sys
from typing import Any

from transformers import TrainerCallback

from speedproof.recorder import Recorder
from speedproof.run.process_recorder import start_recorder
from speedproof.watch.batches import CountedBatches, watch
from speedproof.watch.held_out import HeldOutSet


class Callback(TrainerCallback):
    """Records a Trainer's updates, samples, evaluations and checkpoints.

    The time from one update to the next is a step, without the evaluation and the checkpoint between them.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        """folder: where metrics.jsonl goes; by default what SPEEDPROOF_RECORD names."""
        self._folder = folder
        self._recorder: Recorder | None = None
        self._batches: CountedBatches | None = None
        self._held_out = HeldOutSet()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._recorder = start_recorder(
            self._folder,
            model=kwargs["model"],
            optimizer=kwargs.get("optimizer"),
            seed=args.seed,
            planned_steps=state.max_steps,
            device=args.device,
        )
        loader = kwargs.get("train_dataloader")
        self._batches = None if loader is None else CountedBatches(loader)
        trainer = _calling_trainer()
        if self._recorder and trainer is not None:
            self._watch_evaluations(trainer)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._recorder:
            self._recorder.step(self._batches.take() if self._batches else None)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        metrics = dict(kwargs.get("metrics") or {})
        if not self._recorder:
            return
        if "eval_loss" in metrics:
            loss = metrics.pop("eval_loss")
            numbers = {k.removeprefix("eval_"): v for k, v in metrics.items() if isinstance(v, (int, float))}
            self._recorder.evaluate_all(loss, numbers, self._held_out)
        else:  # of one of several sets, whose losses have names of their own
            self._recorder.restart()

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._recorder:
            self._recorder.checkpoint_ends()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The record is closed at the end of the process: scripts evaluate after Trainer.train()."""
        if self._recorder:
            self._recorder.end_steps()

    def _watch_evaluations(self, trainer: Any) -> None:
        make_loader = trainer.get_eval_dataloader

        def make_watched_loader(*args: Any, **kwargs: Any) -> Any:
            loader = make_loader(*args, **kwargs)
            self._held_out.clear()
            watch(loader, self._held_out.see)
            return loader

        trainer.get_eval_dataloader = make_watched_loader


def _calling_trainer() -> Any:
    """No callback is given its Trainer, which alone makes the loaders of evaluations."""
    frame = sys._getframe(2)
    while frame is not None:
        caller = frame.f_locals.get("self")
        if hasattr(caller, "callback_handler") and hasattr(caller, "get_eval_dataloader"):
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    return None
