"""The recorder for a training loop of your own: start, step, evaluate."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist

from speedproof.run.clock import clock_for
from speedproof.run.ranks import ByCollective, ByFiles, OneProcess, Ranks, ranks_by_environment
from speedproof.run.recording import Recording, nothing_recorded
from speedproof.watch import readback
from speedproof.watch.held_out import HeldOutSet, described
from speedproof.watch.patches import AutocastWatch, ScalerWatch


class Recorder:
    """Writes metrics.jsonl. Every rank calls start, step and close; evaluate counts on rank 0.

    A step is the time from the step, start or evaluate before it to its own call, in the GPU's time if the
    model is on one.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        """folder: where metrics.jsonl goes; by default what SPEEDPROOF_RECORD names.

        Without both it records nothing, so that a script also runs without Speedproof.
        """
        chosen = folder if folder is not None else os.environ.get("SPEEDPROOF_RECORD")
        self._folder = Path(chosen) if chosen else None
        self._recording: Recording | None = None
        self._scaler, self._autocast = ScalerWatch(), AutocastWatch()
        self._last_step = 0.0

    def start(
        self,
        *,
        model: torch.nn.Module,
        optimizer: Any = None,
        config: Mapping[str, object] | None = None,
        seed: int | None = None,
        data_hash: str | None = None,
        evaluation_samples: int | None = None,
        planned_steps: int | None = None,
        period_steps: int | None = None,
        effective: Mapping[str, str | float | bool] | None = None,
        work_keys: Sequence[str] | None = None,
        device: torch.device | None = None,
    ) -> Recorder:
        """Begin the first step. What you leave out is unknown to Speedproof, apart from the seed.

        optimizer: one, or several. seed: by default the one torch was given last. effective: further settings
        that are in effect, beside those that are read from model and optimizer.
        """
        if self._recording is not None:
            raise RuntimeError("This recorder has started already. Make a new one, with a folder of its own.")
        if self._folder is None:
            self._recording = nothing_recorded()
            return self
        optimizers = _as_list(optimizer)
        device = device or next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
        self._scaler.install()
        self._autocast.install()
        work = readback.work_of(optimizers)
        known = {
            "config": None if config is None else dict(config),
            "config_hash": None if config is None else _hash_of(config),
            "seed": readback.initial_seed() if seed is None else seed,
            "data_hash": data_hash,
            "evaluation_samples": evaluation_samples,
            "planned_steps": planned_steps,
            "period_steps": period_steps,
            "work_keys": [*work, *(work_keys or ())] or None,
        }

        def describe() -> dict[str, object]:
            self._autocast.remove()
            parameters = list(model.parameters())
            found = readback.effective(optimizers, parameters, model, self._autocast.seen)
            return {
                **known,
                "versions": readback.versions(),
                "parameter_count": readback.parameter_count(parameters),
                "effective": {**found, **work, **(effective or {})},
            }

        self._recording = _opened(self._folder, _ranks(self._folder, device), device, describe)
        self._recording.restart()
        self._last_step = time.perf_counter()
        return self

    def step(
        self,
        samples: int | None,
        loss: float | torch.Tensor | None = None,
        *,
        learning_rate: float | None = None,
        skipped: bool = False,
    ) -> None:
        """Count an optimizer step that ends here.

        samples: the training samples that this process had in it; None if unknown. loss: of this process; a
        tensor on a GPU is read later. skipped: whether the update was skipped; a GradScaler's skips are
        counted anyway.
        """
        found = self._scaler.take()
        self._running().end_step(None, samples, loss, learning_rate, skipped or found)
        self._last_step = time.perf_counter()

    def evaluate(self, val_loss: float | torch.Tensor, *, held_out: Any = None, **metrics: float) -> None:
        """Report an evaluation that ends here: the time since the last step is taken for it.

        After pause, the time since then. Call it on rank 0 with the loss over all held-out samples. Other
        ranks may call it too, to take their time out of the next step. held_out: all held-out
        samples of this process as one batch, or a HeldOutSet that has seen its batches. Without it, nothing
        tells that two losses are of the same samples. With it, all ranks have to call.
        """
        self.evaluate_all(val_loss, metrics, held_out)

    def evaluate_all(
        self, val_loss: float | torch.Tensor, metrics: Mapping[str, float], held_out: Any = None
    ) -> None:
        """As evaluate, for metrics of any names."""
        running = self._running()
        if running.is_over:
            return
        finite = {name: float(value) for name, value in metrics.items() if math.isfinite(value)}
        running.between(
            "evaluation",
            val_loss=float(val_loss),
            metrics=finite or None,
            not_finite=sorted(metrics.keys() - finite.keys()) or None,
            seconds=time.perf_counter() - self._last_step,
            **({} if held_out is None else self._described(held_out)),
        )
        if running.is_paused:
            self.resume()
        else:
            self.restart()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Take this block out of the step. name: checkpoint, data, build, compile or capture."""
        running, started = self._running(), time.perf_counter()
        running.pause()
        try:
            yield
        finally:
            running.between("phase", name=name, seconds=time.perf_counter() - started)
            running.resume()

    def pause(self) -> None:
        """Take the time until resume, or until the end of an evaluation, out of the step."""
        self._running().pause()
        self._last_step = time.perf_counter()

    def resume(self) -> None:
        self._running().resume()
        self._last_step = time.perf_counter()

    def restart(self) -> None:
        """Let the next step begin here: what happened since the last one belongs to none."""
        self._running().restart()
        self._last_step = time.perf_counter()

    def checkpoint_ends(self) -> None:
        """Report a checkpoint that ends here: the time since the last step or evaluation is taken for it."""
        seconds = time.perf_counter() - self._last_step
        self._running().between("phase", name="checkpoint", seconds=seconds)
        self.restart()

    def end_steps(self) -> None:
        """Say that no steps follow. Evaluations may, until close or the end of the process."""
        self._scaler.remove()
        self._autocast.remove()
        self._running().end_steps()

    def refuse(self, reason: str) -> None:
        """End with the reason why this run cannot be measured. The training goes on."""
        self._running().refuse(reason)

    def close(self) -> None:
        """Write what is left and the end of the run. Call it before torch.distributed is torn down."""
        if self._recording is not None:
            self._scaler.remove()
            self._autocast.remove()
            self._recording.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif self._recording is not None:
            self._recording.abandon()

    @property
    def steps_taken(self) -> int:
        return self._running().steps_taken

    def _described(self, held_out: Any) -> dict[str, object]:
        own = held_out if isinstance(held_out, HeldOutSet) else HeldOutSet.of(held_out)
        return described(self._running().ranks.gather(own.take()))

    def _running(self) -> Recording:
        if self._recording is None:
            raise RuntimeError("Call start of the recorder before the first step.")
        return self._recording


def _ranks(folder: Path, device: torch.device) -> Ranks:
    rank, size = ranks_by_environment()
    if size == 1:
        return OneProcess()
    return (
        ByCollective(device) if dist.is_available() and dist.is_initialized() else ByFiles(folder, rank, size)
    )


def _as_list(optimizer: Any) -> list[Any]:
    if optimizer is None:
        return []
    several = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    return [readback.plain_optimizer(one) for one in several]


def _hash_of(config: Mapping[str, object]) -> str:
    try:
        text = json.dumps(dict(config), sort_keys=True)
    except TypeError as error:
        raise TypeError(
            f"config cannot be written as JSON: {error}. Give plain values, such as "
            "OmegaConf.to_container(config, resolve=True) of a hydra config."
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


def _opened(
    folder: Path, ranks: Ranks, device: torch.device, describe: Callable[[], dict[str, object]]
) -> Recording:
    """All ranks together, since a collective that some of them leave out takes the training along."""
    hook = sys.modules.get("speedproof.watch.hook")
    late: str | None = None if hook is None else hook.stand_down(folder)
    clock, taken, recording = clock_for(device), None, None
    try:
        recording = Recording(folder, ranks, clock, device, describe, is_over=late is not None)
    except FileExistsError as error:
        taken = str(error.filename)
    of_ranks = [of_rank or (None, None) for of_rank in ranks.gather((taken, late))]
    taken = next((path for path, _ in of_ranks if path), None)
    late = next((reason for _, reason in of_ranks if reason), None)
    if recording is None or taken is not None:
        if recording is not None:
            recording.abandon()
        raise FileExistsError(f"{taken} exists. Give the recorder an empty folder, and record once per run.")
    if late is not None:
        recording.refuse(late)
    return recording
