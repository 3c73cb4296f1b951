"""Where time, memory and work go, and the search for the largest batch."""

import contextlib
import json

import pytest
import torch
from forked import python
from test_precision import a_learner
from test_wrappers import LATENT_ALONE
from tiny import OUT_OF_MEMORY, ROOT, launch, tiny_config, tiny_file, train_in_ranks

from trainer.config import load_config
from trainer.contracts.term import EVERYTHING
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.process.world import World
from trainer.profiling.memory import held_bytes
from trainer.profiling.regions import Regions
from trainer.profiling.tune_batch import (
    _fits,
    _train,
    _trial,
    fewest_micro_steps,
    largest_that_fits,
    tune_batch,
)
from trainer.profiling.work import flops_per_pair
from trainer.run.step.learner import Learner

PARTS = {
    "data",
    "encode",
    "operator",
    "decode",
    "losses",
    "choices",
    "backward",
    "communication",
    "gradients",
    "optimizer",
    "average",
}


def test_the_work_of_a_pair_is_that_of_the_design():
    config = load_config(ROOT / "configs/train/two-task-1gpu-baseline.yaml", ["data.tasks=[advection1d]"])
    work = flops_per_pair(config)
    layers = 12 * (4 * 128 * 384 * 384 + 8 * 128 * 384 * 384 + 2 * 128 * 128 * 384)
    assert work["operator"] == pytest.approx(3 * 2 * layers, rel=0.02)  # three passes, the rest is small
    assert work["operator"] == pytest.approx(17.3e9, rel=0.01)
    assert work["decoder"] == pytest.approx(2 * 14.4e9, rel=0.02)  # the prediction and the field itself
    assert work["all"] == pytest.approx(work["encoder"] + work["operator"] + work["decoder"], rel=1e-3)


def test_places_that_are_embedded_once_for_all_pairs_are_work_once():
    plain, hoisted = (
        flops_per_pair(
            load_config(ROOT / f"configs/train/two-task-1gpu-{form}.yaml", ["data.tasks=[advection1d]"])
        )
        for form in ("baseline", "optimized")
    )
    # Two linear layers, the second of the embedding and the first layer's queries, in both decodes.
    assert plain["decoder"] - hoisted["decoder"] == pytest.approx(2 * 3 * 2 * 2 * 1024 * 384 * 384, rel=0.05)
    assert hoisted["operator"] == plain["operator"]


def test_a_part_that_no_term_uses_is_no_work():
    work = flops_per_pair(load_config(ROOT / "configs/train/parity-4gpu-optimized.yaml"))
    assert work["decoder"] == 0
    assert work["all"] == pytest.approx(work["encoder"] + work["operator"], rel=1e-3)


def test_fewer_inverse_terms_are_less_work(tmp_path):
    every = flops_per_pair(tiny_config(tmp_path))
    quarter = flops_per_pair(tiny_config(tmp_path, "recipe.inverse_every_nth_pair=4"))
    assert quarter["decoder"] < every["decoder"]
    assert quarter["operator"] == every["operator"]


def test_terms_that_are_not_due_are_no_work(tmp_path):
    def work(*recipe: str) -> float:
        return flops_per_pair(tiny_config(tmp_path, "train.updates=12", *recipe))["all"]

    every, never = work(), work("recipe.inverse_every=24")
    assert never < every
    assert work("recipe.inverse_every=4") == pytest.approx(never + (every - never) / 4)


@pytest.mark.slow
def test_the_profile_names_every_part_and_leaves_a_trace(tmp_path):
    arguments = ["profile", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), "--steps", "1"]
    done = launch([*arguments, "--set", "speed.loader_workers=1"], processes=1)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "profile.json").read_text())
    assert set(found["part_seconds"]) == PARTS
    assert found["held_bytes"]["optimizer state"] > 2 * found["held_bytes"]["weights"]
    assert len(found["worker_bytes"]) == 1
    assert found["worker_bytes"][0] > 1e6
    for part in PARTS:
        assert part in done.stdout
    trace = json.loads((tmp_path / "trace-0.json").read_text())
    assert any(event.get("name") == "aten::addmm" for event in trace["traceEvents"])


@pytest.fixture(scope="module")
def held_in_ranks(tmp_path_factory):
    """What each of two ranks holds, by the wrapper's name and the rank."""
    folder = tmp_path_factory.mktemp("held")
    muon = "optimizer.matrices=muon,speed.muon=batched"
    runs = {
        "ddp": "speed.wrapper=ddp",
        "fsdp2": "speed.wrapper=fsdp2",
        "ddp-muon": f"speed.wrapper=ddp,{muon}",
        "fsdp2-muon": f"speed.wrapper=fsdp2,{muon}",
    }
    train_in_ranks(folder, 2, runs, by="held_in_ranks.py")
    return {
        name: [json.loads((folder / f"{name}-{rank}.json").read_text()) for rank in (0, 1)] for name in runs
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["weights", "gradients", "optimizer state", "averaged weights"])
def test_each_of_two_ranks_holds_half_of_what_fsdp2_shards(held_in_ranks, kind):
    whole = held_in_ranks["ddp"][0][kind]
    assert whole == held_in_ranks["ddp"][1][kind] > 0
    parts = [rank[kind] for rank in held_in_ranks["fsdp2"]]
    assert parts == pytest.approx([whole / 2] * 2, rel=0.02)


@pytest.mark.slow
def test_the_momentum_of_muon_is_whole_on_every_rank_of_fsdp2(held_in_ranks):
    of_ddp, first, second = (
        held["optimizer state"] for held in (held_in_ranks["ddp-muon"][0], *held_in_ranks["fsdp2-muon"])
    )
    momentum = held_in_ranks["fsdp2-muon"][0]["momentum"]
    assert [first, second] == pytest.approx([momentum + (of_ddp - momentum) / 2] * 2, rel=0.02)


@pytest.mark.parametrize("muon", ["loop", "batched"])
def test_what_is_held_is_the_bytes_of_the_tensors_that_are_there(tmp_path, muon):
    asked = ["optimizer.matrices=muon", f"speed.muon={muon}", "speed.wrapper=flat"]  # whose gradients stay
    operator_alone = ["model.trained=operator", "loss.inverse_encoding=0", "loss.inverse_decoding=0"]
    learner, feed = a_learner(tiny_config(tmp_path, *asked, *operator_alone, *LATENT_ALONE))
    learner.update(1, feed)
    parameters = list(learner.model.parameters())
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    states = [tensor for state in learner.optimizer.state_dict().values() for tensor in state.values()]
    assert 0 < len(trained) < len(parameters)
    assert held_bytes(learner, feed) == {
        "weights": sum(parameter.nbytes for parameter in parameters),
        "gradients": sum(parameter.grad.nbytes for parameter in trained),
        "optimizer state": sum(tensor.nbytes for tensor in states),
        "averaged weights": sum(parameter.nbytes for parameter in parameters),
        "resident data": 0,
    }


@pytest.mark.slow
@pytest.mark.parametrize(("wrapper", "processes"), [("flat", 1), ("ddp", 2)])
def test_the_time_of_the_backward_pass_is_its_own_and_says_where_ranks_communicate(
    tmp_path, wrapper, processes
):
    arguments = ["profile", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), "--steps", "1"]
    done = launch([*arguments, "--set", f"speed.wrapper={wrapper}"], processes)
    assert done.returncode == 0, done.stderr
    assert set(json.loads((tmp_path / "profile.json").read_text())["part_seconds"]) == PARTS
    assert ("The wrapper communicates during backward" in done.stdout) == (wrapper == "ddp")


@pytest.mark.slow
def test_a_profile_has_the_switches_of_the_process_on(tmp_path):
    arguments = ["profile", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), "--steps", "2"]
    sets = (
        "speed.metric_reads=update",
        "speed.memory_cleanup_updates=1",
        "speed.nccl=[NCCL_MIN_NCHANNELS=4]",
        "speed.cudnn_autotune=true",
        "train.detect_anomaly=true",
    )
    done = launch([*arguments, *(text for key in sets for text in ("--set", key))], processes=1)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "profile.json").read_text())
    assert set(found["part_seconds"]) == PARTS | {"reads", "clean-up"}
    expected = {
        "metric_reads": "update",
        "memory_cleanup": "every 1 updates",
        "nccl": "NCCL_MIN_NCHANNELS=4",
        "cudnn_autotune": True,
        "detect_anomaly": True,
    }
    assert {key: found["effective"][key] for key in expected} == expected


class Memory:
    """A GPU's, as far as torch tells of it."""

    def __init__(self, monkeypatch) -> None:
        self.now = self.peak = 0
        quiet = {"synchronize": lambda _device: None, "reset_peak_memory_stats": self.forget}
        told = {
            "memory_allocated": lambda _device: self.now,
            "max_memory_allocated": lambda _device: self.peak,
        }
        for name, function in {**quiet, **told}.items():
            monkeypatch.setattr(torch.cuda, name, function)
        for name in ("range_push", "range_pop"):
            monkeypatch.setattr(torch.cuda.nvtx, name, lambda *_: None)

    def forget(self, _device: torch.device) -> None:
        self.peak = self.now

    def take(self, count: int) -> None:
        self.now += count
        self.peak = max(self.peak, self.now)


def test_the_highest_memory_of_a_part_is_its_own_before_and_after_an_inner_one(monkeypatch):
    memory, regions = Memory(monkeypatch), Regions(torch.device("cuda"))
    memory.take(100)
    with regions.region("outer"):
        memory.take(50)
        memory.take(-40)
        with regions.region("inner"):
            memory.take(7)
            memory.take(-7)
        memory.take(20)
    assert regions.peak_bytes == {"outer": 50, "inner": 7}


@pytest.mark.slow
def test_what_is_compiled_as_one_is_named_as_one(tmp_path):
    arguments = ["profile", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), "--steps", "1"]
    program = (  # spares the test the compiler, a minute of it
        "import sys; from trainer.cli import main; from trainer.switches.model.compilation import regions; "
        "regions.compile_whole = lambda objective, mode: None; sys.exit(main(sys.argv[1:]))"
    )
    done = python(["-c", program, *arguments, "--set", "speed.compile=model"])
    assert done.returncode == 0, done.stderr
    parts = json.loads((tmp_path / "profile.json").read_text())["part_seconds"]
    assert set(parts) == PARTS - {"encode", "operator", "decode", "losses"} | {"forward pass"}
    assert "--set speed.compile=blocks" in done.stdout


@pytest.mark.slow
def test_a_single_process_profiles_a_padded_pass_without_talk_of_a_wrapper(tmp_path):
    arguments = ["profile", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), "--steps", "1"]
    more = ["train.pairs_per_update=1024", "train.rest=pad", "evaluation.rollout_trajectories=0"]
    done = launch([*arguments, *(text for key in more for text in ("--set", key))], processes=1)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "profile.json").read_text())["effective"]["wrapper"] == "none"
    assert "The wrapper communicates" not in done.stdout
    assert "GFLOP\nencoder          0.00\n" not in done.stdout


@pytest.mark.parametrize(
    ("limit", "unit", "most", "expected"),
    [(0, 4, 1000, 0), (3, 1, 1000, 3), (100, 4, 1000, 100), (5000, 2, 1000, 1000), (7, 2, 1000, 6)],
)
def test_the_largest_batch_is_found_to_a_sixteenth(limit, unit, most, expected):
    tried = []

    def fits(pairs: int) -> bool:
        tried.append(pairs)
        return pairs <= limit

    found = largest_that_fits(fits, unit, most)
    assert found <= expected
    assert found >= expected - max(unit, expected // 16)
    assert len(tried) == len(set(tried)) < 20
    assert all(pairs % unit == 0 and pairs <= most for pairs in tried)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])  # whose scaler skips the first updates of a training
def test_each_step_of_a_trial_has_all_terms_and_the_last_an_optimizers_state(
    tmp_path, monkeypatch, precision
):
    asked = ["recipe.inverse_every=4", "recipe.priors_every=3", "recipe.exploration_updates=2"]
    asked.append(f"speed.precision={precision}")
    config, seen, work = tiny_config(tmp_path, *asked), [], Learner.work

    def watched(learner, step, rate, batches, phase):
        seen.append((phase, bool(list(learner.optimizer.held()))))
        return work(learner, step, rate, batches, phase)

    monkeypatch.setattr(Learner, "work", watched)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    data, alone = open_data(config), World(rank=0, size=1, device=torch.device("cpu"))
    assert _fits(8, lambda pairs: _train(_trial(config, pairs), data, alone))
    assert seen == [(EVERYTHING, False), (EVERYTHING, True)]


@pytest.mark.parametrize("name", ["plan-1gpu", "two-task-1gpu-baseline"])
def test_the_micro_steps_for_any_batch_are_the_fewest_that_the_config_may_have(name):
    path = ROOT / f"configs/train/{name}.yaml"
    config = load_config(path)
    assert fewest_micro_steps(config, 10) == 96  # 77 would do, but for the equal shares of two tasks
    divisors = [count for count in range(1, 385) if 384 % count == 0]
    for pairs in range(2, 770, 2):
        assert fewest_micro_steps(config, pairs) == min(n for n in divisors if 768 / n <= pairs)
    for micro_steps in divisors:
        assert load_config(path, [f"speed.accumulation_steps={micro_steps}"])


@pytest.mark.parametrize(
    ("overrides", "pairs", "expected"),
    [
        ([], 16, 1),
        ([], 5, 4),
        (["recipe.batch_cut_into=3", "train.pairs_per_update=48"], 5, 4),  # a step has 16 pairs
        (["recipe.inverse_every_nth_pair=4"], 4, 4),
        (["recipe.inverse_every_nth_pair=4"], 3, None),
    ],
)
def test_micro_steps_are_of_a_step_and_of_every_rule(tmp_path, overrides, pairs, expected):
    assert fewest_micro_steps(tiny_config(tmp_path, *overrides), pairs) == expected


def test_a_batch_that_no_number_of_micro_steps_comes_down_to_is_told(tmp_path, monkeypatch, capsys):
    with_a_limit(monkeypatch, OUT_OF_MEMORY[0])
    uncut = ["train.pairs_per_update=32", "speed.compile=blocks", "speed.compile_mode=reduce-overhead"]
    assert tune_batch(tiny_config(tmp_path, *uncut), 0.9) == 1
    assert "20 pairs per micro-step fit, but no speed.accumulation_steps" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("error", OUT_OF_MEMORY)
def test_a_batch_whose_memory_is_not_there_does_not_fit(tmp_path, monkeypatch, capsys, error):
    with_a_limit(monkeypatch, error)
    assert tune_batch(tiny_config(tmp_path), 0.9) == 0
    assert "20 pairs per micro-step fit" in capsys.readouterr().out


@pytest.mark.slow
def test_a_batch_that_fails_otherwise_ends_the_search(tmp_path, monkeypatch):
    with_a_limit(monkeypatch, RuntimeError("CUDA error: an illegal memory access was encountered"))
    with pytest.raises(RuntimeError, match="illegal memory access"):
        tune_batch(tiny_config(tmp_path), 0.9)


def with_a_limit(monkeypatch, error: Exception) -> None:
    """Pretend a GPU on which more than 20 pairs fail with the error."""

    def train(config, *_arguments: object) -> None:
        if config.train.pairs_per_update > 20:
            raise error

    @contextlib.contextmanager
    def on_a_gpu(_timeout_seconds: float):
        yield World(rank=0, size=1, device=torch.device("cuda"))

    monkeypatch.setattr("trainer.profiling.tune_batch._train", train)
    monkeypatch.setattr("trainer.profiling.tune_batch.open_world", on_a_gpu)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda _fraction: None)


def test_a_machine_without_a_gpu_has_no_such_limit(tmp_path):
    with pytest.raises(ConfigError, match="tune-batch: there is no GPU"):
        tune_batch(tiny_config(tmp_path), 0.9)


def test_a_search_of_several_processes_is_refused(tmp_path, monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="was started as 2 processes"):
        tune_batch(tiny_config(tmp_path), 0.9)
