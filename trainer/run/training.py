"""The whole training, from config to checkpoint, on one page."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.config import Config
from trainer.config.rules import require_world_fits
from trainer.config.speed_rules import require_device_fits
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.process.clock import seconds_since_start
from trainer.process.prefetch import BackgroundTask, hash_triton
from trainer.process.ranks import rank_from_environment
from trainer.process.terminal import say, show_progress
from trainer.process.world import open_world
from trainer.run.agreement import open_same_data, require_same_start, same_earlier_part
from trainer.run.checkpoint.manager import CheckpointManager
from trainer.run.checkpoint.resume import Earlier, require_same_data, set_aside
from trainer.run.evaluation.one_step import Evaluator
from trainer.run.failures.checksum import require_equal_weights
from trainer.run.failures.simulated import requested_fault
from trainer.run.lock import hold_folder
from trainer.run.record.events import write_evaluation, write_run_end, write_run_start
from trainer.run.record.metrics_file import MetricsFile
from trainer.run.record.step_clock import step_clock
from trainer.run.record.window import Window
from trainer.run.step.fallback import start
from trainer.switches.model import runs_kernels
from trainer.switches.process.nccl import set_nccl_environment
from trainer.switches.process.process_switches import ProcessSwitches, anomaly_named


@dataclass
class Progress:
    """How far a run is, for messages that say where it ended."""

    step: int = 0


def run_training(config: Config, out: Path, seed: int, progress: Progress, *, resume: bool = False) -> None:
    """Train one rank; writes metrics.jsonl and checkpoint.pt into `out` on rank 0, or continues them."""
    import_seconds = seconds_since_start()
    joining = time.perf_counter()
    set_nccl_environment(config.speed.nccl, out, rank_from_environment()[0])
    # Made, where they have to be, by who may: a training that is refused below, or has ended, makes none.
    reading = BackgroundTask(open_data, config, generates=False)
    hashing = hash_triton() if runs_kernels(config.speed) else None
    with open_world(config.train.timeout_seconds) as world, hold_folder(out, world):
        join_seconds = time.perf_counter() - joining
        require_same_start(config, seed, world, resume=resume)
        require_world_fits(config, world.size)
        require_device_fits(config.speed, world.device.type, world.size)
        earlier = same_earlier_part(out, config, seed, world) if resume else Earlier()
        if earlier.ended and earlier.step == config.cut.steps:  # its record is left as it is
            if world.rank == 0:
                say(f"{out}: already has all {earlier.step} steps; nothing is left to train")
            return
        opening = time.perf_counter()
        data = open_same_data(lambda: reading.wait() or open_data(config), config.data.root, world)
        require_same_data(earlier, data, config.data.root, out, world)
        schedule = data.train.schedule(
            config.train.pairs_per_update, seed, config.train.rest, config.cut.cut_into
        )
        share = Share(schedule, world.rank, world.size, config.speed.accumulation_steps)
        first, cut = earlier.step + 1, config.cut
        feed = open_feed(data.train, share, cut.steps, config.speed, world.device, first)
        data_seconds = time.perf_counter() - opening
        if world.rank == 0 and not resume:
            set_aside(out)
        metrics = MetricsFile(out / "metrics.jsonl" if world.rank == 0 else None, earlier.metrics)

        building = time.perf_counter()
        if hashing:
            hashing.wait()
        left, anomalies = cut.steps - earlier.step, config.train.detect_anomaly
        # Before the learner: a graph keeps them.
        switches = ProcessSwitches(config.speed, left, out, world, detect_anomaly=anomalies)
        started = start(config, seed, world, feed, earlier.state, requested_fault())
        earlier = replace(earlier, state=None, metrics=b"")  # several times the weights, not needed any more
        learner, graph = started.learner, started.graph
        update = graph.update if graph else learner.update
        evaluator = Evaluator(config, data.held_out, world)
        checkpoints = CheckpointManager(config, seed, out, world, data, earlier)
        write_run_start(metrics, config, seed, world, data, started, feed, switches, checkpoints)
        capture_seconds = graph.seconds if graph else 0.0
        metrics.phase("import", import_seconds)
        metrics.phase("data", data_seconds)
        metrics.phase("build", join_seconds + time.perf_counter() - building - capture_seconds)
        if graph:
            metrics.phase("capture", capture_seconds)

        clock = step_clock(world.device)
        window = Window(first)
        for step in range(first, cut.steps + 1):
            progress.step = step
            switches.before()
            clock.start()
            with anomaly_named(step):
                window.records.append(update(step, feed))
            switches.read(window.records[-1].loss, window.records[-1].gradient_norm)
            switches.clean_up(step)
            clock.stop()
            switches.after()
            evaluates = step == cut.steps or cut.is_due(step, config.evaluation.every_updates)
            if evaluates or checkpoints.is_due(step) or step % config.train.window_updates == 0:
                window.report(clock.drain(), world, metrics)
                if world.rank == 0:
                    show_progress("step", step, cut.steps)
                window = Window(step + 1)
            declared = cut.completed(step)
            if declared and declared % schedule.updates_per_epoch == 0:
                metrics.write("epoch", epoch=declared // schedule.updates_per_epoch, step=step)
            if cut.is_due(step, config.train.checksum_every_updates):
                require_equal_weights(learner.model, world, step)
            val_loss = write_evaluation(metrics, step, evaluator, learner) if evaluates else None
            checkpoints.save_if_due(step, learner, metrics, val_loss)

        feed.close()
        switches.close()
        checkpoints.close()
        write_run_end(metrics, world, learner, switches, checkpoints)
        if graph:
            graph.close()
