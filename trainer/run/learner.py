"""Everything that learns: model, loss, optimizer and moving average, with the speed switches applied."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trainer.config.schema import Config
from trainer.data.batch import Batch
from trainer.data.feed import Feed
from trainer.losses.choices import Step, StepChoices
from trainer.losses.objective import Objective
from trainer.model.latent_operator import LatentPdeOperator
from trainer.optimizer.adamw import implementation, learning_rate, make_adamw, set_learning_rate
from trainer.optimizer.ema import make_ema
from trainer.run.faults import Fault
from trainer.run.window import StepRecord
from trainer.run.world import World
from trainer.switches.compile_blocks import compile_blocks, compiled_blocks, graphs_compiled
from trainer.switches.precision import observed_format, product_format


class Learner:
    def __init__(self, config: Config, seed: int, world: World, fault: Fault | None = None) -> None:
        self.config, self.world, self.fault = config, world, fault
        torch.manual_seed(seed)  # equal weights on all ranks and in all variants
        self.model = LatentPdeOperator(config).to(world.device)
        if config.speed.compile == "blocks":
            compile_blocks(self.model)
        self.objective = _over_ranks(Objective(self.model, config.loss), world)
        self.optimizer = make_adamw(
            self.model, config.optimizer, fused=config.speed.fused_adamw, device=world.device
        )
        self.ema = make_ema(self.model, config.optimizer.ema_decay, foreach=config.speed.foreach_ema)
        self.choices = StepChoices.of(config, seed)

    def update(self, step: int, feed: Feed) -> StepRecord:
        """One optimizer step on the batches of the feed."""
        graphs = graphs_compiled()
        rate = learning_rate(self.config.optimizer, step, self.config.train.updates)
        waits = _Waits()
        loss, norm = self.work(step, rate, waits.measured(feed.update(step)))
        return StepRecord(loss, norm, waits.seconds, rate, compiled=graphs_compiled() > graphs)

    def work(
        self, step: Step, rate: float | Tensor, batches: Iterable[Batch]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""] | None]:
        """One optimizer step over all micro-batches; return loss and gradient norm.

        Nothing in it waits for the device; with step and rate as tensors a CUDA graph can hold all of it.
        """
        set_learning_rate(self.optimizer, rate)
        loss = torch.zeros((), device=self.world.device)
        for micro_step, batch in enumerate(batches, start=1):
            loss += self._accumulate(step, batch, last=micro_step == self.config.speed.accumulation_steps)
        norm = self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.ema.update()
        return loss, norm

    def effective(self) -> dict[str, str | int]:
        """What is really on, asked of the objects."""
        return {
            "wrapper": type(self.objective).__name__
            if self.objective is not _bare(self.objective)
            else "none",
            "compiled_blocks": compiled_blocks(self.model),
            "precision": observed_format(self._product_format(), self.world.device),
            "optimizer": implementation(self.optimizer),
            "ema": self.ema.implementation,
        }

    def _accumulate(self, step: Step, batch: Batch, *, last: bool) -> Tensor:
        """Add the gradient of one micro-batch and return its part of the update's loss."""
        branch_scale = self.choices.branch_scale(step, batch.pair)
        queries = self.choices.queries(step, batch.pair)
        waits_to_reduce = isinstance(self.objective, DistributedDataParallel) and not last
        with self.objective.no_sync() if waits_to_reduce else contextlib.nullcontext():
            with self._product_format():
                loss = self.objective(batch, branch_scale, queries) / self.config.speed.accumulation_steps
            if self.fault:
                loss = self.fault.strike(loss, self.world.rank, step)
            loss.backward()
        return loss.detach()

    def _clip(self) -> Tensor | None:
        limit = self.config.optimizer.clip_norm
        return None if limit is None else nn.utils.clip_grad_norm_(self.model.parameters(), limit)

    def _product_format(self) -> torch.autocast:
        return product_format(self.config.speed.precision, self.world.device)


class _Waits:
    """Seconds spent waiting for batches."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def measured(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        while True:
            started = time.perf_counter()
            batch = next(batches, None)
            self.seconds += time.perf_counter() - started
            if batch is None:
                return
            yield batch


def _over_ranks(objective: Objective, world: World) -> nn.Module:
    if world.size == 1:
        return objective
    return DistributedDataParallel(
        objective,
        device_ids=[world.device.index] if world.device.type == "cuda" else None,
        gradient_as_bucket_view=True,
        static_graph=False,  # with no_sync it would not reduce
        **_without_buffer_broadcast(),
    )


def _without_buffer_broadcast() -> dict[str, bool]:
    """Our buffers are constants; the option that says so has a new name since torch 2.13."""
    known = inspect.signature(DistributedDataParallel.__init__).parameters
    return {"forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers": False}


def _bare(objective: nn.Module) -> nn.Module:
    return objective.module if isinstance(objective, DistributedDataParallel) else objective
