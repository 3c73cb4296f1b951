"""Makes what learns. A switch that fails on this machine is an error, or off where the config says so."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import TypeVar

import torch

from trainer.config.schema import Config, SpeedConfig
from trainer.config.speed_rules import broken_speed_rules
from trainer.data.batches.feed import Feed
from trainer.process.terminal import say
from trainer.process.world import World
from trainer.run.failures.failure import is_out_of_memory
from trainer.run.failures.simulated import Fault
from trainer.run.step.cuda_graph import GraphedUpdate
from trainer.run.step.learner import Learner
from trainer.switches.model import MODEL_SWITCHES

Made = TypeVar("Made")

GATED = "SPEEDPROOF_RUN_MARKER"  # Speedproof sets it in every training that it starts

# What may fail for reasons that no config shows: a compiler, a package or a driver. Each with its plain path.
PLAIN_PATHS: dict[str, dict[str, object]] = {
    "cuda_graph": {"cuda_graph": False},
    **{switch.name: switch.plain_path for switch in reversed(MODEL_SWITCHES) if switch.may_fail},
}


@dataclass(frozen=True)
class Started:
    learner: Learner
    graph: GraphedUpdate | None
    fallbacks: dict[str, str]  # switches that are off because they failed, and how

    def effective(self) -> dict[str, str | int]:
        """What is really on, and why the rest is not."""
        return {
            **self.learner.effective(),
            "cuda_graph": self.graph is not None and self.graph.is_captured,
            **{f"fallback/{switch}": reason for switch, reason in self.fallbacks.items()},
        }


class SwitchFailed(Exception):
    """A switch does not work on one of the ranks; raised on all of them."""


def start(
    config: Config, seed: int, world: World, feed: Feed, state: dict | None, fault: Fault | None
) -> Started:
    """Return what learns, in the given state or fresh, with as few switches off as work."""
    if config.speed.on_failure == "error" or GATED in os.environ:
        return Started(*Attempt(config, seed, world, feed).made(state, fault), {})
    failed: dict[tuple[str, ...], str] = {}  # how each attempt failed, by what was off in it
    for off in _fewest_first([switch for switch in PLAIN_PATHS if _is_on(config.speed, switch)]):
        candidate = replace(config, speed=_without(config.speed, off))
        if any(broken_speed_rules(candidate)):
            continue
        try:
            learner, graph = Attempt(candidate, seed, world, feed).tried(state, fault)
        except SwitchFailed as failure:
            failed[off] = str(failure)
            continue
        started = Started(learner, graph, _reasons(off, failed))
        _tell(started, world)
        return started
    off, last = failed.popitem()
    first = next(iter(failed.values()), last)
    raise RuntimeError(f"{first}; it also fails with {', '.join(off) or 'all switches'} off: {last}")


@dataclass(frozen=True)
class Attempt:
    """Learners of one config."""

    config: Config
    seed: int
    world: World
    feed: Feed

    def made(self, state: dict | None, fault: Fault | None) -> tuple[Learner, GraphedUpdate | None]:
        learner = self._learner(state, fault)
        return learner, self._graph(learner)

    def tried(self, state: dict | None, fault: Fault | None) -> tuple[Learner, GraphedUpdate | None]:
        """Make it if a trial works on every rank; SwitchFailed if a switch does not."""
        _on_all_ranks(self.world, self.try_alone)
        learner = self._learner(state, fault)  # wrappers meet here: what fails now ends the run
        # A capture runs no collective, but the warm-up before it does: what fails there on one rank ends the
        # run.
        return learner, _on_all_ranks(self.world, self._graph, learner)

    def _learner(self, state: dict | None, fault: Fault | None) -> Learner:
        learner = Learner(self.config, self.seed, self.world, fault)
        if state:
            learner.load_state_dict(state)
        return learner

    def _graph(self, learner: Learner) -> GraphedUpdate | None:
        return GraphedUpdate(learner, self.feed) if learner.config.speed.cuda_graph else None

    def try_alone(self) -> None:
        """Let a learner of its own take a step that no other rank waits for; compilers run at the first."""
        speed, device = self.config.speed, self.world.device
        alone = World(rank=0, size=1, device=device)
        eager = replace(self.config, speed=replace(speed, cuda_graph=False))
        try:
            Learner(eager, self.seed, alone).work(1, 0.0, [self.feed.first_batch()])
        finally:
            if speed.compile != "off":
                torch._dynamo.reset()  # compiled code of the trial counts as recompilation of the same code
            gc.collect()  # switches put a module's own methods on it: such circles go with a collection alone
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()  # the trial's memory is not the training's


def _on_all_ranks(world: World, action: Callable[..., Made], *arguments: object) -> Made:
    """Return what the action makes here; SwitchFailed on all ranks if it fails on one of them.

    While it runs no rank may wait for another: the one that fails would not come.
    """
    failure = ""
    try:
        made = action(*arguments)
    except Exception as error:
        if is_out_of_memory(error):
            raise  # a smaller batch helps, another path hides it
        failure = _described(error)
        # At once: who fails in a graph's warm-up alone finds its peers in a collective, and no answer.
        say(f"rank {world.rank}: {failure}")
    if failure:
        gc.collect()  # what failed was held by the traceback until here, and then by circles of its own
    for text in filter(None, world.gather_text(failure)):
        raise SwitchFailed(text)
    return made


def _reasons(off: tuple[str, ...], failed: dict[tuple[str, ...], str]) -> dict[str, str]:
    """For each switch, how it failed with all others off; where the rules forbid that, the first failure."""
    first = next(iter(failed.values()), "")
    return {switch: failed.get(tuple(o for o in off if o != switch), first) for switch in off}


def _described(error: BaseException) -> str:
    """One line: what failed and, where a compiler wraps it, what that came from."""
    cause = error
    while cause.__cause__ or (cause.__context__ and not cause.__suppress_context__):
        cause = cause.__cause__ or cause.__context__
    lines = [f"{type(e).__name__}: {e}".strip().splitlines()[0] for e in (error, cause)]
    return " from ".join(dict.fromkeys(lines))


def _fewest_first(switches: list[str]) -> Iterator[tuple[str, ...]]:
    return chain.from_iterable(combinations(switches, count) for count in range(len(switches) + 1))


def _is_on(speed: SpeedConfig, switch: str) -> bool:
    return any(getattr(speed, key) != value for key, value in PLAIN_PATHS[switch].items())


def _without(speed: SpeedConfig, switches: tuple[str, ...]) -> SpeedConfig:
    plain = {key: value for switch in switches for key, value in PLAIN_PATHS[switch].items()}
    return replace(speed, **plain)


def _tell(started: Started, world: World) -> None:
    for switch, reason in started.fallbacks.items():
        if world.rank == 0:
            say(f"speed.{switch}: turned off, because it failed: {reason}")
