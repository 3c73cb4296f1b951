"""Switches of the whole process, and the work that a fixed grid spares: what is on, and that it ends."""

import gc
import json
import os
import resource
from pathlib import Path

import pytest
import torch
from graphs_on_cpu import replay_by_calls
from test_learning import a_batch
from tiny import events, tiny_config, tiny_file, train_losses
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.gpu_check import worker as gpu_check_worker
from benchmarks.gpu_check.cases import Case
from trainer.build import build_choices, build_model, build_objective
from trainer.config import Config, load_config
from trainer.config.speed_rules import UNTRACED_UPDATES
from trainer.contracts.term import Phase
from trainer.data.splits import open_data
from trainer.errors import CannotWrite, ConfigError
from trainer.losses.objective import Objective
from trainer.process.world import World
from trainer.run import training
from trainer.run.record.step_clock import HostClock
from trainer.run.step import cuda_graph
from trainer.run.training import Progress, run_training
from trainer.switches.model import put_on_model, read_back_model
from trainer.switches.process.nccl import observed_nccl, set_nccl_environment
from trainer.switches.process.process_switches import ProcessSwitches

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
ON = [
    "speed.cudnn_autotune=true",
    "speed.memory_cleanup_updates=2",
    "speed.trace_updates=2",
    "speed.metric_reads=update",
    "train.detect_anomaly=true",
    "train.updates=12",
]


@pytest.mark.slow
def test_what_is_captured_has_the_switches_of_the_process(tmp_path, monkeypatch):
    def noted(*_: object) -> None:
        captured.append(torch.backends.cudnn.benchmark)

    captured: list[bool] = []
    replay_by_calls(monkeypatch.setattr)
    monkeypatch.setattr(cuda_graph, "warm_up", noted)
    graph = ["speed.cuda_graph=true", "speed.fused_adamw=true", "speed.data_path=resident"]
    run_training(tiny_config(tmp_path, *graph, "speed.cudnn_autotune=true"), tmp_path, 3, Progress())
    assert captured == [True]


def test_switches_of_the_process_are_on_until_they_are_closed(tmp_path):
    off = ProcessSwitches(tiny_config(tmp_path).speed, 12, tmp_path, ALONE).effective()
    switches = ProcessSwitches(tiny_config(tmp_path, *ON).speed, 12, tmp_path, ALONE, detect_anomaly=True)
    on = switches.effective()
    switches.close()
    assert (off["cudnn_autotune"], on["cudnn_autotune"], torch.backends.cudnn.benchmark) == (
        False,
        True,
        False,
    )
    assert (off["detect_anomaly"], on["detect_anomaly"], torch.is_anomaly_enabled()) == (False, True, False)
    assert (off["memory_cleanup"], on["memory_cleanup"]) == ("automatic", "every 2 updates")
    assert gc.isenabled()


def counted(monkeypatch, owner: object, name: str) -> list[None]:
    """A list with one entry for each call so far."""
    call, calls = getattr(owner, name), []
    monkeypatch.setattr(owner, name, lambda: (calls.append(None), call())[1])
    return calls


@pytest.mark.parametrize(("every", "cleanups"), [(0, 0), (2, 2), (3, 1)])
def test_a_clean_up_comes_every_so_many_updates(tmp_path, monkeypatch, every, cleanups):
    config = tiny_config(tmp_path, f"speed.memory_cleanup_updates={every}")
    switches = ProcessSwitches(config.speed, 12, tmp_path, ALONE)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    collected = counted(monkeypatch, gc, "collect")
    emptied = counted(monkeypatch, torch.cuda, "empty_cache")
    for step in range(1, 6):
        switches.clean_up(step)
        switches.after()
    switches.close()
    assert (len(collected), len(emptied)) == (1 + cleanups, cleanups)  # and once after the first update


@pytest.mark.parametrize("overrides", [(), ("speed.memory_cleanup_updates=2",)])
def test_what_exists_after_the_first_update_is_collected_there_and_never_again(tmp_path, overrides):
    gc.unfreeze()  # a run that failed in this process has left its own
    switches = ProcessSwitches(tiny_config(tmp_path, *overrides).speed, 12, tmp_path, ALONE)
    assert gc.get_freeze_count() == 0
    switches.after()
    frozen = gc.get_freeze_count()
    switches.after()
    assert frozen > 10_000  # torch alone
    assert gc.get_freeze_count() == frozen
    switches.close()
    assert gc.get_freeze_count() == 0
    assert gc.isenabled()


def by_the_trainer(config: Config, folder: Path) -> None:
    run_training(config, folder, 3, Progress())


def by_the_gpu_check(config: Config, folder: Path) -> None:
    gpu_check_worker.measure(Case("memory-cleanup"), config, open_data(config), ALONE, folder)


@pytest.mark.slow
@pytest.mark.parametrize("train", [by_the_trainer, by_the_gpu_check])
def test_a_clean_up_is_part_of_the_time_of_its_step(tmp_path, monkeypatch, train):
    noted = []

    class NotingClock(HostClock):
        def start(self) -> None:
            noted.append("start")
            super().start()

        def stop(self) -> None:
            noted.append("stop")
            super().stop()

    for module in (training, gpu_check_worker):
        monkeypatch.setattr(module, "step_clock", lambda _device: NotingClock())
    monkeypatch.setattr(gc, "collect", lambda: noted.append("collect"))
    train(tiny_config(tmp_path, "speed.memory_cleanup_updates=2", "train.updates=4"), tmp_path)
    plain, cleaned, once = ["start", "stop"], ["start", "collect", "stop"], ["collect"]
    assert noted[noted.index("start") :] == plain + once + cleaned + plain + cleaned


@pytest.mark.slow
def test_a_run_with_all_of_them_trains_the_same_and_leaves_its_trace(tmp_path, monkeypatch):
    plain, switched = tmp_path / "plain", tmp_path / "switched"
    run_training(tiny_config(tmp_path, "train.updates=12"), plain, 3, Progress())
    collected = counted(monkeypatch, gc, "collect")
    run_training(tiny_config(tmp_path, *ON), switched, 3, Progress())
    assert train_losses(switched) == train_losses(plain)
    effective = events(switched, "run_start")[0]["effective"]
    assert (effective["memory_cleanup"], len(collected)) == ("every 2 updates", 1 + 6)
    ends = [events(run, "run_end")[0] for run in (plain, switched)]
    assert [(end["updates_read"], end["memory_cleanups"]) for end in ends] == [(0, 0), (12, 6)]
    # Of matrices and of the others, both AdamW's there.
    assert 2 * effective["traced_updates"] == _count("AdamW.step", switched / "trace-0.json") == 4
    assert not (plain / "trace-0.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("form", "name"), [("loop", "Optimizer.step#Muon.step"), ("batched", "Muon.step")])
def test_a_trace_has_the_range_of_each_step_of_muon(tmp_path, form, name):
    muon = ["optimizer.matrices=muon", f"speed.muon={form}"]
    config = tiny_config(tmp_path, *muon, "train.updates=12", "speed.trace_updates=2")
    run_training(config, tmp_path, 3, Progress())
    assert _count(name, tmp_path / "trace-0.json") == 2


@pytest.mark.parametrize(("steps_left", "traced"), [(13, 3), (11, 1), (9, 0)])
def test_a_resumed_run_traces_what_its_rest_allows_and_says_so(tmp_path, steps_left, traced):
    config = tiny_config(tmp_path, "speed.trace_updates=3", "train.updates=24")
    switches = ProcessSwitches(config.speed, steps_left, tmp_path, ALONE)
    assert switches.effective()["traced_updates"] == traced
    for _step in range(25 - steps_left, 25):
        switches.before()
        torch.ones(1).exp()
        switches.after()
    assert not torch.autograd._profiler_enabled()
    switches.close()
    assert _count("aten::exp", tmp_path / "trace-0.json") == traced


def test_a_run_that_ends_early_writes_what_it_has_traced(tmp_path):
    switches = ProcessSwitches(
        tiny_config(tmp_path, "speed.trace_updates=9", "train.updates=30").speed, 30, tmp_path, ALONE
    )
    for _step in range(UNTRACED_UPDATES + 3):
        switches.before()
        torch.ones(1).exp()
        switches.after()
    switches.close()
    assert _count("aten::exp", tmp_path / "trace-0.json") == 3
    assert not torch.autograd._profiler_enabled()


@pytest.mark.parametrize("cut_off", [0.5, 0.01])
def test_a_trace_that_a_full_disk_refuses_is_named_and_no_half_of_it_stays(tmp_path, cut_off):
    """Torch says nothing of it, and a trace that lacks only its end has its name already."""
    config = tiny_config(tmp_path, "speed.trace_updates=2", "train.updates=12")

    def traced(out: Path) -> Path:
        switches = ProcessSwitches(config.speed, 12, out, ALONE)
        for _step in range(12):
            switches.before()
            for _operation in range(100):
                torch.ones(1).exp()
            switches.after()
        switches.close()
        return out / "trace-0.json"

    whole, (soft, hard) = traced(tmp_path / "whole"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int((1 - cut_off) * whole.stat().st_size), hard))
    try:
        with pytest.raises(CannotWrite, match=r"^trace-0\.json cannot be written to .*: File too large; "):
            traced(tmp_path / "full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list((tmp_path / "full").iterdir())


def test_a_trace_that_lacks_its_end_is_refused_where_there_is_room_again(tmp_path, monkeypatch):
    def without_its_end(_profiler: object, path: str) -> None:
        Path(path).write_text('{"traceEvents": [{"name": "a"}')

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", without_its_end)
    config = tiny_config(tmp_path, "speed.trace_updates=2", "train.updates=12")
    switches = ProcessSwitches(config.speed, 12, tmp_path / "out", ALONE)
    with pytest.raises(CannotWrite, match=r"^trace-0\.json cannot be written to .*: No space left"):
        for _step in range(12):
            switches.before()
            switches.after()
    switches.close()  # as at every end of a training: nothing is written again
    assert not list((tmp_path / "out").iterdir())


def _count(name: str, trace: Path) -> int:
    if not trace.exists():
        return 0
    return [event.get("name") for event in json.loads(trace.read_text())["traceEvents"]].count(name)


def test_nccls_environment_is_set_and_its_warnings_are_counted(tmp_path, monkeypatch):
    for name in ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_MIN_NCHANNELS"):
        monkeypatch.setenv(name, "of this test")  # put back afterwards
        monkeypatch.delenv(name)
    asked = ("NCCL_MIN_NCHANNELS=4",)
    set_nccl_environment(asked, tmp_path, rank=1)
    assert os.environ["NCCL_DEBUG"] == "WARN"
    log = Path(os.environ["NCCL_DEBUG_FILE"])
    assert (log.parent, log.name[:7]) == (tmp_path, "nccl-1-")
    log.write_text("host:1 [0] NCCL INFO x\nhost:1 [0] misc.cc:1 NCCL WARN no such thing\n")
    assert observed_nccl(asked) == {"nccl": "NCCL_MIN_NCHANNELS=4", "nccl_warnings": 1}
    monkeypatch.delenv("NCCL_MIN_NCHANNELS")
    assert observed_nccl(asked)["nccl"] == "default"
    assert observed_nccl(()) == {"nccl": "default", "nccl_warnings": 0}


def test_a_process_leaves_nccls_log_of_another_as_it_is(tmp_path, monkeypatch):
    for name in ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_MIN_NCHANNELS"):
        monkeypatch.setenv(name, "of this test")
    asked = ("NCCL_MIN_NCHANNELS=4",)
    set_nccl_environment(asked, tmp_path, rank=0)
    log = Path(os.environ["NCCL_DEBUG_FILE"])
    log.write_text("host:1 [0] NCCL WARN one\n")
    set_nccl_environment(asked, tmp_path, rank=0)
    assert observed_nccl(asked)["nccl_warnings"] == 0
    assert log.read_text() == "host:1 [0] NCCL WARN one\n"


@pytest.mark.slow
def test_warnings_of_the_whole_run_are_in_its_end(tmp_path, monkeypatch):
    for name in ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_MIN_NCHANNELS"):
        monkeypatch.setenv(name, "of this test")
        monkeypatch.delenv(name)
    switches = ProcessSwitches(
        tiny_config(tmp_path, "speed.nccl=[NCCL_MIN_NCHANNELS=4]").speed, 7, tmp_path, ALONE
    )
    assert switches.nccl_warnings() == 0
    log = tmp_path / "nccl.log"
    monkeypatch.setenv("NCCL_DEBUG_FILE", str(log))
    log.write_text("host:1 [0] misc.cc:1 NCCL WARN one\nhost:1 [0] NCCL WARN two\n")
    assert switches.nccl_warnings() == 2
    switches.close()
    run_training(tiny_config(tmp_path), tmp_path / "plain", 3, Progress())
    assert "nccl_warnings" not in events(tmp_path / "plain", "run_end")[0]
    run_training(
        tiny_config(tmp_path, "speed.nccl=[NCCL_MIN_NCHANNELS=4]"), tmp_path / "asked", 3, Progress()
    )
    assert events(tmp_path / "asked", "run_end")[0]["nccl_warnings"] == 0


@pytest.mark.parametrize("setting", ["PATH=x", "NCCL_DEBUG=", "NCCL_DEBUG=WARN INFO"])
def test_what_is_no_variable_of_nccl_is_refused(tmp_path, setting):
    said = rf'speed.nccl\[1\]: got "{setting}", expected .* such as NCCL_DEBUG=WARN'
    with pytest.raises(ConfigError, match=said):
        load_config(tiny_file(tmp_path), [f"speed.nccl=[NCCL_DEBUG=WARN, {setting}]"])


LATTICE = ["recipe.query_strategy=lattice", "recipe.query_points=8"]
HOISTED = ["speed.hoist_fixed_grid=true", "recipe.inverse_every_nth_pair=2"]


@pytest.mark.parametrize("recipe", [[], LATTICE])
def test_places_in_common_are_embedded_once_with_the_same_gradients(tmp_path, recipe):
    losses, gradients, work = [], [], []
    for hoisted in ("false", "true"):
        config = tiny_config(tmp_path, f"speed.hoist_fixed_grid={hoisted}", *recipe)
        torch.manual_seed(0)
        objective = build_objective(build_model(config), config)
        put_on_model(objective, config.speed)
        batch = a_batch(config)
        inputs = build_choices(config, 0).inputs(1, batch.pair)
        with FlopCounterMode(display=False) as counter:
            loss = objective(batch, inputs, Phase())
            loss.backward()
        losses.append(loss.detach())
        gradients.append({name: p.grad for name, p in objective.model.named_parameters()})
        work.append(counter.get_total_flops())
    torch.testing.assert_close(losses[1], losses[0])
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)
    assert work[1] < work[0]


def by_sampling(folder, switch: str) -> dict[tuple[str, str], tuple[Config, Objective]]:
    """With the switch on, by how query points are chosen and how many."""
    made = {}
    for strategy, points in (("uniform", "null"), ("lattice", "4"), ("uniform", "4")):
        config = tiny_config(
            folder,
            f"speed.{switch}=true",
            f"recipe.query_points={points}",
            f"recipe.query_strategy={strategy}",
            *("loss.spectral=0", "loss.conservation=0"),  # they need a regular grid
        )
        objective = build_objective(build_model(config), config)
        put_on_model(objective, config.speed)
        made[strategy, points] = config, objective
    return made


def test_only_places_that_pairs_have_in_common_are_hoisted(tmp_path):
    seen = {
        sampling: [part.shares_places for part in objective.tasks]
        for sampling, (_, objective) in by_sampling(tmp_path, "hoist_fixed_grid").items()
    }
    assert seen == {("uniform", "null"): [True], ("lattice", "4"): [True], ("uniform", "4"): [False]}


@pytest.mark.parametrize("recipe", [[], LATTICE, HOISTED, [*HOISTED, *LATTICE]])
def test_predictions_and_reconstructions_decoded_together_have_the_same_gradients(tmp_path, recipe):
    """A task with one set of fields, and one with two; on the border too."""
    losses, gradients, decodes = [], [], []
    for together in ("false", "true"):
        tasks = [
            "data.tasks=[advection1d, darcy2d]",
            "data.advection1d.grid_points=16",
            "data.darcy2d.grid_points=4",
        ]
        config = tiny_config(tmp_path, f"speed.joint_decode={together}", *tasks, *recipe)
        torch.manual_seed(0)
        objective = build_objective(build_model(config), config)
        put_on_model(objective, config.speed)
        batch, calls = a_batch(config), []
        objective.model.decoder.register_forward_hook(lambda *_, calls=calls: calls.append(1))
        loss = objective(batch, build_choices(config, 0).inputs(1, batch.pair), Phase())
        loss.backward()
        losses.append(loss.detach())
        gradients.append({name: p.grad for name, p in objective.model.named_parameters()})
        decodes.append(len(calls))
    torch.testing.assert_close(losses[1], losses[0])
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)
    assert decodes == [4, 2]


def test_only_what_is_at_the_same_places_is_decoded_together(tmp_path):
    read_back = {}
    for sampling, (config, objective) in by_sampling(tmp_path, "joint_decode").items():
        read_back[sampling] = read_back_model(objective, config.speed, torch.float32)["joint_decodes"]
        batch = a_batch(config)
        inputs = build_choices(config, 0).inputs(1, batch.pair)
        assert objective(batch, inputs, Phase()).isfinite()
        assert objective(batch, inputs, Phase(inverse=False)).isfinite()
    assert read_back == {("uniform", "null"): 1, ("lattice", "4"): 1, ("uniform", "4"): 0}


def test_nothing_is_decoded_together_where_no_term_asks_for_a_reconstruction(tmp_path):
    config = tiny_config(
        tmp_path, "speed.joint_decode=true", "loss.inverse_encoding=0", "loss.inverse_decoding=0"
    )
    objective = build_objective(build_model(config), config)
    put_on_model(objective, config.speed)
    assert read_back_model(objective, config.speed, torch.float32)["joint_decodes"] == 0
