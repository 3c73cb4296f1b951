"""Everything that learns: model, loss, optimizer and moving average, with the speed switches applied."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from trainer.build import build_choices, build_model, build_objective, build_rates
from trainer.config.schema import Config
from trainer.contracts.term import EVERYTHING, Phase
from trainer.counter_random import Step
from trainer.data.batches.batch import Batch
from trainer.data.batches.feed import Feed
from trainer.losses.read_back import read_back_recipe
from trainer.optimizer.ema import make_ema
from trainer.optimizer.hybrid import make_optimizer
from trainer.optimizer.scaled_step import ScaledStep
from trainer.process.world import World
from trainer.run.failures.simulated import Fault
from trainer.run.record.window import StepRecord
from trainer.sharding import clip_norm, load_whole_state, whole_state
from trainer.switches.model import put_on_model, read_back_model
from trainer.switches.model.attention.back_ends import attention_back_end
from trainer.switches.model.compilation.regions import graphs_compiled
from trainer.switches.precision import observed_format, product_format
from trainer.wrapper import wrap


class Learner:
    def __init__(self, config: Config, seed: int, world: World, fault: Fault | None = None) -> None:
        self.config, self.world, self.fault = config, world, fault
        torch.manual_seed(seed)  # equal weights on all ranks and in all variants
        self.model = build_model(config).to(world.device)
        # To the device as well: its buffers are not the model's.
        self.objective = build_objective(self.model, config).to(world.device)
        put_on_model(self.objective, config.speed)
        self.wrapper = wrap(self.objective, config.speed, world)
        self.optimizer = make_optimizer(self.model, config.optimizer, config.speed, world)
        self.scaled_step = ScaledStep(self.optimizer, config.speed.precision, world.device)
        self.ema = make_ema(self.model, config.average_decay, foreach=config.speed.foreach_ema)
        self.choices, self.rates = build_choices(config, seed), build_rates(config)
        self._keep_pace()

    def update(self, step: int, feed: Feed) -> StepRecord:
        """One optimizer step on the batches of the feed."""
        graphs = graphs_compiled()
        rate = self.rates.rate(step)
        waits = _Waits()
        batches = waits.measured(feed.update(step))
        loss, norm = self.work(step, rate, batches, self.choices.phase(step))
        return StepRecord(
            loss,
            norm,
            self.config.step_pairs,
            waits.seconds,
            rate,
            compiled=graphs_compiled() > graphs,
            skipped=self.scaled_step.skipped,
        )

    def _keep_pace(self) -> None:
        """Keep the decay per pair of weights and average, whatever the size of a step's batch."""
        self.factor = self.config.cut.factor
        self.optimizer.set_weight_decay(self.config.optimizer.weight_decay * math.sqrt(self.factor))
        self.ema.decay = self.config.average_decay**self.factor

    def work(
        self, step: Step, rate: float | Tensor, batches: Iterable[Batch], phase: Phase = EVERYTHING
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""] | None]:
        """One optimizer step over all micro-batches; return loss and gradient norm.

        Nothing in it waits for the device, except fp16's scaler where the optimizer does not skip on the
        device; with step and rate as tensors a CUDA graph can hold all of it.
        """
        self.optimizer.set_learning_rate(rate)
        loss = torch.zeros((), device=self.world.device)
        for micro_step, batch in enumerate(batches, start=1):
            last = micro_step == self.config.speed.accumulation_steps
            loss += self._accumulate(step, batch, phase, last=last)
            self.wrapper.reduce(last=last)
        self.scaled_step.unscale_gradients()
        norm = self._clip()
        self.scaled_step.step()
        if isinstance(skipped := self.scaled_step.skipped, Tensor):
            self.ema.update(skipped)
        elif not skipped:
            self.ema.update()
        self.wrapper.clear_gradients()
        return loss, norm

    def state_dict(self) -> dict[str, dict]:
        """All that a step changes, whole; where weights are sharded, every rank must call this."""
        return {
            "model": whole_state(self.model),
            "ema": self.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaled_step": self.scaled_step.state_dict(),
        }

    def load_state_dict(self, state: dict[str, dict]) -> None:
        load_whole_state(self.model, state["model"])
        self.ema.load_state_dict(state["ema"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaled_step.load_state_dict(state["scaled_step"])

    def effective(self) -> dict[str, str | int]:
        """What is really on, asked of the objects."""
        product_dtype = observed_format(self._product_format(), self.world.device)
        return {
            **self.wrapper.effective(),
            **read_back_model(self.objective, self.config.speed, product_dtype),
            **read_back_recipe(
                self.objective, self.choices, self.config.cut, self.config.train.pairs_per_update
            ),
            "precision": str(product_dtype).removeprefix("torch."),
            "optimizer": self.optimizer.implementation,
            **self.rates.effective(),
            "ema": self.ema.implementation + self._judged_average(),
        }

    def _judged_average(self) -> str:
        """Over how many updates it goes, by its decay; nothing where it is only shown."""
        if self.config.judged_weights == "raw":
            return ""
        return f", evaluated, over {-self.factor / math.log(self.ema.decay):.3g} updates"

    def _accumulate(self, step: Step, batch: Batch, phase: Phase, *, last: bool) -> Tensor:
        """Add the gradient of one micro-batch and return its part of the update's loss."""
        inputs = self.choices.inputs(step, batch.pair)
        with self.wrapper.micro_step(last=last), attention_back_end(self.config.speed.attention):
            with self._product_format():
                loss = self.wrapper.module(batch, inputs, phase)
                loss = loss / self.config.speed.accumulation_steps
            if self.fault:
                loss = self.fault.strike(loss, self.model, self.world.rank, step)
            self.wrapper.backward(self.scaled_step.scaled(loss))
        return loss.detach()

    def _clip(self) -> Tensor | None:
        limit = self.config.optimizer.clip_norm
        return None if limit is None else clip_norm(self.model.parameters(), limit)

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
