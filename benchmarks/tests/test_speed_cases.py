"""Launches of both forms: what a recorded one says, and that compared ones differ in one thing alone."""

import re
import shutil

import pytest
from tiny import ROOT

from benchmarks.speed import speed_cases
from scripts import run
from trainer.config import load_config
from trainer.errors import ConfigError


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ("2gpu-h100/optimized-2gpu", "GPUs: got 2, expected 1 of optimized-1gpu"),
        (
            "1gpu-ea2b2a3/optimized-1gpu-micro-batch-64",
            "train.pairs_per_update: got 192, expected 768 of optimized-1gpu",
        ),
        (
            "1gpu-ea2b2a3/baseline-1gpu",
            "speed.accumulation_steps: got 3, expected 1 of optimized-1gpu",
        ),
    ],
)
def test_a_record_of_another_training_is_no_speed_case(tmp_path, monkeypatch, recorded, said):
    shutil.copy(ROOT / f"out/records/scaling/{recorded}.jsonl", tmp_path / "optimized-1gpu.jsonl")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'optimized-1gpu.jsonl'}: {said}")):
        run(monkeypatch, speed_cases, "--gpus", "1", "--out", tmp_path, "--show")


def test_the_table_of_a_record_has_its_speed_work_waits_and_set_up(monkeypatch, capsys):
    of_both = ["baseline-4gpu", "optimized-4gpu", "optimized-1gpu"]
    folder = ROOT / "out/records/scaling/4gpu"
    run(monkeypatch, speed_cases, "--out", folder, "--show", "--only", *of_both)
    rows = {row.split()[0]: row.split()[1:] for row in capsys.readouterr().out.splitlines()}
    assert rows["optimized-4gpu"] == ["118.4", "25951", "3.36x", "98.0%", "35.3%", "0.3%", "44.4", "59.1"]
    # The efficiency of several GPUs needs the same form on one.
    assert rows["baseline-4gpu"] == ["397.7", "7724", "11.4%", "0.3%", "26.0", "3.2"]


def recorded_case(case: speed_cases.Case, seconds: float) -> list[dict]:
    steps = {"event": "steps", "step_seconds": [seconds] * 2, "samples": [case.pairs] * 2}
    start = {"event": "run_start", "config": {"data": {"tasks": ["advection1d"]}, "loss": {"forward": 1.0}}}
    return [start, {**steps, "data_wait_seconds": [0.0] * 2}, {"event": "run_end"}]


def test_the_baseline_with_all_that_is_free_stays_eager_and_is_held_against_the_plan_s():
    found = {case.name: case for case in speed_cases.cases(1, 256)}
    plain, free = found["baseline-1gpu"], found["baseline-1gpu-free-gains"]
    speed = load_config(ROOT / "configs/train/two-task-1gpu-baseline.yaml", list(free.settings)).speed
    assert (speed.compile, speed.cuda_graph, speed.fused_pointwise) == ("off", False, False)
    assert (speed.attention, speed.cross_attention) == ("auto", "auto")
    assert (free.pairs, free.gpus) == (plain.pairs, plain.gpus)
    measured = [(plain, recorded_case(plain, 0.4)), (free, recorded_case(free, 0.32))]
    rows = speed_cases.table(measured).splitlines()
    assert rows[2].split()[:4] == ["baseline-1gpu-free-gains", "320.0", "2400", "1.25x"]
    assert rows[3] == "baseline, 768 pairs in all: 1 GPUs 1.00x"


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_the_plan_s_settings_are_taken_back_one_by_one_beside_the_baseline_of_as_many_gpus(gpus):
    found = {case.name: case for case in speed_cases.cases(gpus, 256)}
    plan, baseline = found[f"plan-{gpus}gpu"], found[f"baseline-{gpus}gpu"]
    path = ROOT / speed_cases._config(plan, "no config of a form")
    whole = load_config(path)
    assert (plan.pairs, plan.micro_steps) == (whole.train.pairs_per_update, whole.speed.accumulation_steps)
    assert plan.pairs == baseline.pairs
    taken_back = {
        name.removeprefix(plan.name): changed(whole.speed, load_config(path, list(case.settings)).speed)
        for name, case in found.items()
        if case.form == "plan" and case.pairs == baseline.pairs
    }
    assert taken_back == {
        "": {},
        "-ddp": {"wrapper": "ddp"},
        "-nccl-default": {"nccl": ()},
        "-all-activations": {"activation_checkpointing": "off", "checkpoint_encoder_decoder": False},
    }
    measured = [(baseline, recorded_case(baseline, 0.4)), (plan, recorded_case(plan, 0.32))]
    own_batch = found.get(f"plan-{gpus}gpu-own-batch")
    assert (own_batch is None) == (gpus == 1)  # the plan says none for one
    if own_batch:
        factor = {2: 60 / 48, 4: 48 / 24}[gpus]
        assert (own_batch.pairs, own_batch.micro_steps) == (factor * baseline.pairs, plan.micro_steps)
        measured.append((own_batch, recorded_case(own_batch, factor * 0.32)))
    rows = [row.split() for row in speed_cases.table(measured).splitlines()]
    assert {row[3] for row in rows[2 : 1 + len(measured)]} == {"1.25x"}
    assert gpus > 1 or rows[-1][:3] == ["baseline,", "768", "pairs"]


def changed(before: object, after: object) -> dict:
    return {name: value for name, value in vars(after).items() if value != getattr(before, name)}
