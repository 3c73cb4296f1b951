"""Whole-step CUDA graphs: batch gather, forward, backward, reduction, optimizer and average in one launch."""

from __future__ import annotations

import gc
import time

import torch

from trainer.contracts.term import Phase
from trainer.data.batches.feed import Feed, ResidentFeed
from trainer.run.record.window import StepRecord
from trainer.run.step.learner import Learner
from trainer.run.step.rollback import rolled_back
from trainer.run.step.static_update import StaticUpdate


class GraphedUpdate:
    """Takes the place of Learner.update, with a graph per phase; close it before the process group is."""

    def __init__(self, learner: Learner, feed: ResidentFeed) -> None:
        started = time.perf_counter()
        self.learner = learner
        # Not within what is captured, where to read a step's number would wait for the device: it strikes
        # behind the replay, so that "nan" spoils the reported loss alone.
        self.fault, learner.fault = learner.fault, None
        self.static = StaticUpdate(learner, feed)
        phases = {learner.choices.phase(step) for step in range(1, learner.config.cut.steps + 1)}
        self.graphs = _captured(self.static, sorted(phases))
        self.seconds = time.perf_counter() - started

    def update(self, step: int, feed: Feed) -> StepRecord:
        """Replay the captured update for this step."""
        started = time.perf_counter()
        self.static.put(step)
        wait = time.perf_counter() - started
        self.graphs[self.learner.choices.phase(step)].replay()
        config, loss = self.learner.config, self.static.loss(step)
        if self.fault:
            loss = self.fault.strike(loss, self.learner.model, self.learner.world.rank, step)
        return StepRecord(
            loss,
            self.static.norm(step),
            config.step_pairs,
            wait,
            self.learner.rates.rate(step),
            compiled=False,
            skipped=self.static.skipped(step),
        )

    @property
    def is_captured(self) -> bool:
        return len(self.graphs) > 0

    def close(self) -> None:
        """Free the graphs: NCCL cannot give back a communicator that one still holds."""
        self.graphs = {}


def _captured(static: StaticUpdate, phases: list[Phase]) -> dict[Phase, torch.cuda.CUDAGraph]:
    """Warm up on the stream of the capture, then record an update of each phase, running none."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        warm_up(static, phases)
    torch.cuda.current_stream().wait_stream(stream)
    graphs = {phase: torch.cuda.CUDAGraph() for phase in phases}
    pool = torch.cuda.graph_pool_handle()  # one for all: they never run at the same time
    gc.collect()
    was_automatic = gc.isenabled()  # not where memory_cleanup_updates asks for updates of its own
    gc.disable()  # a tensor freed by a collection would end the capture
    try:
        for phase, graph in graphs.items():
            # NCCL's watchdog asks for events from its thread; in the default mode that would end the capture.
            with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                static.run(phase)
    finally:
        if was_automatic:
            gc.enable()
    return graphs


def warm_up(static: StaticUpdate, phases: list[Phase]) -> None:
    """Update until workspaces and NCCL's channels are there and compiled code has settled, and undo that.

    No wrapper changes after its first update: with a graph it is Flat, or Plain on one rank.
    """
    updates = 1 if static.learner.config.speed.compile == "off" else 3
    static.put(1)
    with rolled_back(static.learner):
        for phase in phases * updates:
            static.run(phase)
