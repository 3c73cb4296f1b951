"""Runs cases of the GPU check one after another, as one rank; a failure is recorded and ends it."""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.gpu_check.cases import PLAIN, Case, cases
from benchmarks.gpu_check.verdict import largest
from benchmarks.harness.in_words import refused_in_words
from trainer.config import Config, load_config
from trainer.config.rules import require_world_fits
from trainer.config.speed_rules import require_device_fits
from trainer.data.batches.feed import Feed, Share, open_feed
from trainer.data.splits import Data, open_data
from trainer.errors import RanksDisagree
from trainer.optimizer.ema import averaged_weights
from trainer.process.ranks import rank_from_environment
from trainer.process.world import World, open_world
from trainer.profiling.work import flops_per_pair
from trainer.run.checkpoint.manager import CheckpointManager
from trainer.run.checkpoint.resume import Earlier, earlier_part, require_same_data
from trainer.run.failures.checksum import require_equal_weights
from trainer.run.record.metrics_file import MetricsFile
from trainer.run.record.step_clock import step_clock
from trainer.run.step.cuda_graph import GraphedUpdate
from trainer.run.step.learner import Learner
from trainer.run.step.static_update import StaticUpdate
from trainer.switches.process.nccl import set_nccl_environment
from trainer.switches.process.process_switches import ProcessSwitches

Weights = dict[str, Tensor]

SEED = 1
SYNCHRONIZES = "called a synchronizing CUDA operation"
FIRST_NOTED = 6  # waits of the host are noted in the first update of each phase from here on
ROOT = Path(__file__).parents[2]
OWN_CODE = f"{ROOT}/trainer/"


def measure(case: Case, config: Config, data: Data, world: World, out: Path) -> dict[str, object]:
    """Train the case's updates; the later half is timed."""
    require_world_fits(config, world.size)
    require_device_fits(config.speed, world.device.type, world.size)
    updates = config.cut.steps
    earlier = _earlier(case, config, data, world, out)
    share = Share(
        data.train.schedule(config.train.pairs_per_update, SEED, cut_into=config.cut.cut_into),
        world.rank,
        world.size,
        config.speed.accumulation_steps,
    )
    _forget_previous(world.device)
    feed = open_feed(data.train, share, updates, config.speed, world.device, earlier.step + 1)
    checkpoints = CheckpointManager(config, SEED, _left_by(case, out), world, data, earlier)
    result, after_replays = _trained(case, config, feed, world, out, checkpoints)
    if config.speed.cuda_graph and not case.resumes:
        _free_memory(world.device)  # of the graph, which has all of an update's for its own
        result |= _replay_deviations(config, feed, result["losses"], after_replays, world)
    feed.close()
    return result


def _left_by(case: Case, out: Path) -> Path:
    """The folder of the checkpoint that a case leaves half-way for the one that resumes it."""
    return out / f"checkpoint-{case.name}"


def _earlier(case: Case, config: Config, data: Data, world: World, out: Path) -> Earlier:
    """What a resumed case goes on with, read as a training reads it."""
    if not case.resumes:
        return Earlier()
    folder = out / f"checkpoint-{case.against}"
    earlier = earlier_part(folder, config, SEED)
    require_same_data(earlier, data, config.data.root, folder, world)
    return earlier


def _trained(
    case: Case, config: Config, feed: Feed, world: World, out: Path, checkpoints: CheckpointManager
) -> tuple[dict[str, object], dict[str, Weights]]:
    """What is recorded of the updates, and weights and averages after those replays that are repeated."""
    updates, first = config.cut.steps, checkpoints.earlier.step + 1
    is_resumed = any(other.resumes and other.against == case.name for other in cases(world.device.type))
    left_on = _left_by(case, out) / "metrics.jsonl" if is_resumed and world.rank == 0 else None
    metrics = MetricsFile(left_on)  # no checkpoint is resumed without one
    started = time.perf_counter()
    switches = ProcessSwitches(config.speed, updates - first + 1, out, world)  # a graph keeps them
    learner = Learner(config, SEED, world)
    noting = time.perf_counter()
    at_start = _on_host(learner.state_dict()["model"])
    started += time.perf_counter() - noting  # no part of the set-up
    if checkpoints.earlier.state:
        learner.load_state_dict(checkpoints.earlier.state)
    graph = GraphedUpdate(learner, feed) if config.speed.cuda_graph else None
    update, clock = graph.update if graph else learner.update, step_clock(world.device)
    losses: list[Tensor] = []
    norms: list[Tensor] = []
    seconds: list[float] = []
    waits: list[list[str]] = []
    phases, after_replays, gradients = {}, {}, {}
    for step in range(first, updates + 1):
        if step - first + 1 >= FIRST_NOTED:
            phases.setdefault(learner.choices.phase(step), step)
        switches.before()
        clock.start()
        # A replayed update is one launch.
        notes = step in phases.values() and not graph
        with _noted_waits(world.device) if notes else nullcontext() as noted:
            record = update(step, feed)
            switches.read(record.loss, record.gradient_norm)
        waits += [] if noted is None else [noted]
        switches.clean_up(step)
        clock.stop()
        losses.append(record.loss.clone())
        norms += [] if record.gradient_norm is None else [record.gradient_norm.clone()]
        switches.after()
        if graph and step == _replays(updates):
            after_replays = _weights(learner)
        if is_resumed and step < updates and checkpoints.is_due(step):
            checkpoints.save_if_due(step, learner, metrics, None)
        if step == first:
            seconds += clock.drain()
            set_up = time.perf_counter() - started
            gradients = {} if case.resumes or record.skipped else _first_gradients(learner)
    seconds += clock.drain()
    timed_steps = range(max(updates // 2, first) + 1, updates + 1)  # the first one is part of the set-up
    timed = seconds[timed_steps.start - first :]
    pairs = config.step_pairs * len(timed_steps)
    flops = flops_per_pair(config, timed_steps)["all"] * pairs
    result = {
        "version": 2,  # of_old of verdict.py reads those before it
        "updates": config.train.updates,
        "update_pairs": config.train.pairs_per_update,
        "effective": {
            **learner.effective(),
            **feed.effective(),
            **switches.effective(),
            "cuda_graph": bool(graph and graph.is_captured),
        },
        "set_up_seconds": set_up,
        "step_seconds": sum(timed) / len(timed),
        "step_seconds_least": min(timed),
        "tera_flops_per_second": flops / (sum(timed) * world.size * 1e12),
        "pairs_per_second": pairs / sum(timed),
        "losses": (world.gather(torch.stack(losses).double()).mean(dim=0)).tolist(),
        "gradient_norms": [one if math.isfinite(one) else None for one in (norm.item() for norm in norms)],
        "device": world.device.type,
        "skipped_updates": learner.scaled_step.skipped_updates,
        "updates_read": switches.updates_read,
        **({"resumed_at": first - 1} if case.resumes else {}),
        **({"host_waits": _most(max(waits, key=len), world)} if waits else {}),
        **_recorded_graphs(config, world.device),
        **_memory(world.device),
        **_compared(case, {**_weights(learner), "gradient_deviation": gradients}, at_start, world, out),
    }
    if config.speed.wrapper != "fsdp2":  # whose ranks have each its own part
        try:
            require_equal_weights(learner.model, world, updates)
        except RanksDisagree as error:  # on all of them: the other cases can go on
            result["ranks_disagree"] = str(error)
    switches.close()
    if graph:
        graph.close()
    return result, after_replays


def _recorded_graphs(config: Config, device: torch.device) -> dict[str, int]:
    """How many CUDA graphs torch.compile itself captured, where it is asked to."""
    if config.speed.compile_mode != "reduce-overhead" or device.type != "cuda":
        return {}
    from torch._inductor.cudagraph_trees import get_manager

    manager = get_manager(torch.cuda.current_device(), create_if_none_exists=False)
    return {"recorded_graphs": sum(map(len, manager.roots.values())) if manager else 0}


def _replays(updates: int) -> int:
    """How many are made again eagerly."""
    return min(10, updates // 2)  # those that are timed come after


def _replay_deviations(
    config: Config, feed: Feed, losses: list[float], after_replays: dict[str, Weights], world: World
) -> dict[str, float]:
    """How far replayed steps are from the same calls made eagerly, in losses, and in what they left behind.

    The learning rate changes in them.
    """
    learner = Learner(config, SEED, world)
    static, deviations = StaticUpdate(learner, feed), []
    for step in range(1, 1 + _replays(config.cut.steps)):
        static.put(step)
        static.run(learner.choices.phase(step))
        loss = world.gather(static.loss(step).double()).mean().item()
        deviations.append(abs(loss - losses[step - 1]) / abs(loss))
    return {
        "replay_deviation": largest(deviations),
        **{
            f"replay_{kind}": largest(
                (after_replays[kind][name] - one).abs().max().item() for name, one in of.items()
            )
            for kind, of in _weights(learner).items()
        },
    }


def _most(waits: list[str], world: World) -> str:
    """Of the rank with the most."""
    return max(world.gather_text("; ".join(waits)), key=lambda text: text.count("; ") + bool(text)) or "none"


@contextmanager
def _noted_waits(device: torch.device) -> Iterator[list[str] | None]:
    """Where the host waits for the GPU in what is done meanwhile, by torch's own detector."""
    if device.type != "cuda":
        yield None
        return
    places: list[str] = []

    def note(message: Warning, _category: object, filename: str, line: int, *_: object) -> None:
        if SYNCHRONIZES in str(message):
            # The innermost call of ours: what waits in it is often torch's own code.
            ours = [call for call in traceback.extract_stack() if call.filename.startswith(OWN_CODE)]
            place = (ours[-1].filename, ours[-1].lineno) if ours else (filename, line)
            places.append(f"{place[0].removeprefix(f'{ROOT}/')}:{place[1]}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield places
        finally:
            torch.cuda.set_sync_debug_mode("default")


def _weights(learner: Learner) -> dict[str, Weights]:
    """And their averages; by the name of how far each is from another case's."""
    state = learner.state_dict()
    return {
        "weight_deviation": _on_host(state["model"]),
        "average_deviation": averaged_weights(_on_host(state["ema"])),  # no memory of the GPU for it
    }


def _on_host(weights: Weights) -> Weights:
    return {name: one.detach().to("cpu", copy=True) for name, one in weights.items()}


def _first_gradients(learner: Learner) -> Weights:
    """What the optimizer was given in its first update, reduced and clipped, by the name of each tensor.

    Up to a factor in common it is the first moment, which began at 0, so that this sees what reached the
    optimizer, whatever the wrapper.
    """
    states = {
        name: state.get("exp_avg", state.get("momentum"))
        for name, state in learner.optimizer.state_dict().items()
    }
    return _on_host({name: one for name, one in states.items() if one is not None})


def _compared(
    case: Case, values: dict[str, Weights], at_start: Weights, world: World, out: Path
) -> dict[str, object]:
    """How far weights, averages and first gradients are from those of the case that this one should repeat.

    Of weights and averages as a share of how far the other's came from their start, and which tensors are
    where they started although the other's are not. Of gradients relative to them: of all together, and of
    the tensor that is furthest off.
    """
    is_reference = any(other.against == case.name for other in cases(world.device.type))
    if world.rank == 0 and is_reference:
        torch.save(values, out / f"reference-{case.name}.pt")
    reference_path = out / f"reference-{case.against}.pt"
    if case.against is None or not reference_path.exists():
        return {}
    reference = torch.load(reference_path, weights_only=True)
    starts = {**dict.fromkeys(reference, at_start), "gradient_deviation": None}
    found: dict[str, object] = {}
    for kind, wanted in reference.items():
        if not wanted or values[kind].keys() != wanted.keys():
            continue  # a first update that was skipped
        off = _distances(values[kind], wanted, world.device)
        way = _distances(starts[kind], wanted, world.device)
        found[kind] = _root_sum(off) / _root_sum(way)
        if kind == "gradient_deviation":
            found["worst_gradients"] = _worst(off, way)
        else:
            own_way = _distances(at_start, values[kind], world.device)
            found[kind.replace("deviation", "stood_still")] = [
                name for name in wanted if own_way[name] == 0 < way[name]
            ]
    return found


def _worst(off: dict[str, float], way: dict[str, float]) -> dict[str, list[float]]:
    """The ten tensors that are furthest off relative to themselves, and what part of all they are."""
    whole = _root_sum(way)
    shares = {name: [off[name] / size, size / whole] for name, size in way.items() if size > 0}
    return dict(sorted(shares.items(), key=lambda one: (math.isnan(one[1][0]), one[1][0]))[:-11:-1])


def _distances(weights: Weights | None, others: Weights, device: torch.device) -> dict[str, float]:
    """Of each tensor; from 0 where there are no `weights`."""
    squares = []
    for name, one in others.items():
        other = one.to(device).double()
        squares.append(
            (other if weights is None else weights[name].to(device).double() - other).square().sum()
        )
    return dict(zip(others, torch.stack(squares).sqrt().tolist(), strict=True))


def _root_sum(distances: dict[str, float]) -> float:
    return math.sqrt(sum(distance**2 for distance in distances.values()))


def _forget_previous(device: torch.device) -> None:
    torch._dynamo.reset()
    _free_memory(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()


def _free_memory(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def _memory(device: torch.device) -> dict[str, int]:
    if device.type != "cuda":
        return {}
    return {
        "peak_memory_allocated_bytes": torch.cuda.max_memory_allocated(),
        "peak_memory_reserved_bytes": torch.cuda.max_memory_reserved(),
    }


def _keep_what_is_compiled(folder: Path) -> None:
    """For the new processes of a resumed case: kernels chosen by timing may be others the next time.

    A folder for each rank, since ranks choose by themselves.
    """
    for name, part in (("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton")):
        os.environ[name] = str(folder / part)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cases", nargs="+", required=True)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    chosen = {case.name: case for case in cases(options.device)}
    rank = rank_from_environment()[0]
    _keep_what_is_compiled(options.out / "compiled" / f"rank-{rank}")
    first = _config(options, chosen[options.cases[0]])
    set_nccl_environment(first.speed.nccl, options.out, rank)
    opened: dict[str, Data] = {}
    with open_world(120) as world:
        for name in options.cases:
            record = {"case": name, "processes": world.size}
            if rank == 0:
                _write(options.out, {**record, "started": True})
            try:
                config = _config(options, chosen[name])
                key = repr((config.data, config.recipe.task_shares))
                opened[key] = opened.get(key) or open_data(config)
                record |= measure(chosen[name], config, opened[key], world, options.out)
            except Exception as error:
                record["error"] = f"{type(error).__name__}: {error}"[:2000]
                record["call_stack"] = traceback.format_exc()[-3000:]
                _write(options.out, {**record, "rank": rank})
                os._exit(3)  # the GPU or a collective may be in any state now
            if rank == 0:
                _write(options.out, record)
    return 0


def _config(options: argparse.Namespace, case: Case) -> Config:
    pairs = f"train.pairs_per_update={options.pairs * (case.shares or case.processes)}"
    return load_config(options.config, [pairs, *options.set, *PLAIN, *case.overrides])


def _write(out: Path, record: dict[str, object]) -> None:
    with (out / "gpu-check.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    with refused_in_words():
        sys.exit(main())
