"""The scripts in benchmarks/ say what is wrong with what they are given, before they measure."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

import pytest
from tiny import ROOT, tiny_file

from benchmarks import machine, memory_growth, speed_cases, step_breakdown
from benchmarks.in_words import refused_in_words, require_package
from trainer.config import load_config
from trainer.errors import CannotWrite, ConfigError

DEBUG = ROOT / "configs/train/debug.yaml"
ONE_UPDATE = ["--set", "train.updates=1", "--set", "optimizer.warmup_updates=0"]
KERNEL = {"cat": "kernel", "name": "gemm", "ts": 10.0, "dur": 2000.0}


def run(monkeypatch, script, *arguments) -> int | str | None:
    """What it exits with: a code, or what it says as it ends."""
    monkeypatch.setattr(sys, "argv", [script.__name__, *map(str, arguments)])
    try:
        return script.main()
    except SystemExit as ended:
        return ended.code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "nope"], "--only: no case of --gpus 4 is called nope; cases: baseline-4gpu, "),
        (
            ["--only", "optimized-2gpu", "--gpus", "1"],
            "no case of --gpus 1 is called optimized-2gpu; cases: ",
        ),
        (["--gpus", "0"], "--gpus: invalid choice: "),
        (["--gpus", "3"], "--gpus: invalid choice: "),
    ],
)
def test_a_speed_case_that_does_not_exist_is_refused(tmp_path, monkeypatch, capsys, arguments, said):
    assert run(monkeypatch, speed_cases, "--out", tmp_path / "out", *arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("cold_finishes", "launched"), [(False, ["cold"]), (True, ["cold", "warm"])])
def test_a_warm_start_needs_the_caches_of_a_cold_one_that_finished(
    tmp_path, monkeypatch, capsys, cold_finishes, launched
):
    found = []

    def launch(case, options):
        found.append(case.name.removeprefix("optimized-1gpu-"))
        (tmp_path / "caches/cold").mkdir(parents=True, exist_ok=True)
        events = [{"event": "steps", "step_seconds": [1.0, 1.0], "samples": [8, 8]}]
        events += [{"event": "run_end"}] if cold_finishes else []
        (tmp_path / f"{case.name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))

    monkeypatch.setattr(speed_cases, "_launch", launch)
    only = ["optimized-1gpu-cold", "optimized-1gpu-warm"]
    monkeypatch.setattr(sys, "argv", ["speed_cases", "--out", str(tmp_path), "--only", *only])
    options = speed_cases._options()
    speed_cases._measure([case for case in options.cases if case.name in only], options)
    assert found == launched
    refused = "optimized-1gpu-warm: optimized-1gpu-cold left no whole caches here, not started"
    assert (refused in capsys.readouterr().out) == (not cold_finishes)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ("2gpu-h100/optimized-2gpu", "GPUs: got 2, expected 1 of optimized-1gpu; it is of another training"),
        (
            "1gpu-ea2b2a3/optimized-1gpu-micro-batch-64",
            "train.pairs_per_update: got 192, expected 768 of optimized-1gpu; ",
        ),
        (
            "1gpu-ea2b2a3/baseline-1gpu",
            "speed.accumulation_steps: got 3, expected 1 of optimized-1gpu; ",
        ),
    ],
)
def test_a_record_of_another_training_is_no_speed_case(tmp_path, monkeypatch, recorded, said):
    shutil.copy(ROOT / f"benchmarks/scaling/{recorded}.jsonl", tmp_path / "optimized-1gpu.jsonl")
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'optimized-1gpu.jsonl'}: {said}")):
        run(monkeypatch, speed_cases, "--gpus", "1", "--out", tmp_path, "--show")


def test_the_table_of_a_record_has_its_speed_work_waits_and_set_up(monkeypatch, capsys):
    run(monkeypatch, speed_cases, "--out", ROOT / "benchmarks/scaling/4gpu", "--show")
    rows = {row.split()[0]: row.split()[1:] for row in capsys.readouterr().out.splitlines()}
    assert rows["optimized-4gpu"] == ["118.4", "25951", "3.36x", "98.0%", "35.3%", "0.3%", "44.4", "59.1"]
    assert rows["baseline-4gpu"] == ["397.7", "7724", "95.1%", "11.4%", "0.3%", "26.0", "3.2"]
    # One GPU that takes as many pairs in all has more of them: no efficiency.
    assert rows["optimized-2gpu-equal-total"] == ["232.8", "13199", "2.92x", "35.9%", "0.2%", "45.9", "10.6"]


def recorded_case(case: speed_cases.Case, seconds: float) -> list[dict]:
    steps = {"event": "steps", "step_seconds": [seconds] * 2, "samples": [case.pairs] * 2}
    start = {"event": "run_start", "config": {"data": {"tasks": ["advection1d"]}, "loss": {"forward": 1}}}
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


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"traceEvents": [{"cat": "kernel"}]}'])
def test_what_is_no_trace_is_named(tmp_path, monkeypatch, text):
    trace = tmp_path / "trace-0.json"
    if text is not None:
        trace.write_text(text)
    said = run(monkeypatch, step_breakdown, "--updates", "3", trace)
    assert said.startswith(f"{trace}: cannot be read as a trace (")
    assert run(monkeypatch, step_breakdown, "--recorded", trace).startswith(f"--recorded: {trace}: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trace-0.json", "--updates", "0"], "--updates: got 0, expected how many updates each trace has"),
        (["trace-0.json"], "--updates: got None, expected"),
        ([], "name either traces or, with --recorded,"),
        (["trace-0.json", "--recorded", "all.json"], "name either traces or, with --recorded,"),
        (["--recorded", "all.json", "--json", f"{ROOT / 'README.md'}/x.json"], "its folder cannot be made"),
        (["--recorded", "all.json", "--picture", str(ROOT)], f"{ROOT}: is a folder; name a file"),
    ],
)
def test_a_breakdown_is_refused_before_its_traces_are_read(monkeypatch, capsys, arguments, said):
    assert run(monkeypatch, step_breakdown, *arguments) == 2
    assert said in capsys.readouterr().err


def test_a_breakdown_without_room_is_told_in_words(tmp_path, monkeypatch):
    trace = tmp_path / "trace-0.json"
    trace.write_text(json.dumps({"traceEvents": [KERNEL]}))
    with pytest.raises(CannotWrite, match=r"full cannot be written to /dev: No space left on device"):
        run(monkeypatch, step_breakdown, "--updates", "2", "--json", "/dev/full", trace)


def test_a_recorded_breakdown_prints_the_same_table(tmp_path, monkeypatch, capsys):
    trace, record = tmp_path / "baseline/trace-0.json", tmp_path / "new/folder/all.json"
    trace.parent.mkdir()
    trace.write_text(json.dumps({"traceEvents": [KERNEL]}))
    trace.with_name("metrics.jsonl").write_text('{"device_names": ["NVIDIA H200", "NVIDIA H200"]}\n')
    assert run(monkeypatch, step_breakdown, "--updates", "2", "--json", record, trace) == 0
    printed = capsys.readouterr().out
    assert run(monkeypatch, step_breakdown, "--recorded", record) == 0
    assert capsys.readouterr().out == printed
    assert step_breakdown.devices_of(str(trace)) == "2 x NVIDIA H200"
    assert step_breakdown.devices_of(str(record)) is None
    monkeypatch.setattr(step_breakdown, "find_spec", lambda _: None)
    assert run(monkeypatch, step_breakdown, "--recorded", record, "--picture", tmp_path / "all.png") == 1
    said = capsys.readouterr()
    assert said.out == printed  # all that it can
    assert "all.png: matplotlib is not installed; with it, --recorded draws that" in said.err


def call(*arguments) -> subprocess.CompletedProcess:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": ""}
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    "script", ["kernel_errors", "memory_growth", "rivals.accelerate_run", "rivals.lightning_run"]
)
def test_help_needs_neither_a_gpu_nor_another_package(script):
    done = call(f"benchmarks.{script}", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kernel_errors", "bfloat17"], "invalid choice: 'bfloat17' (choose from "),
        (
            ["kernel_errors", "bfloat16", "3"],
            "SIZE: got [3], expected none, or four of 1 or more: PAIRS TOKENS",
        ),
        (["kernel_errors", "bfloat16"], "there is no GPU; set TRITON_INTERPRET=1"),
        (["memory_growth", "--config", "nope", "--out", "out"], "nope: cannot be read ("),
        (["rivals.accelerate_run", "--config", "nope", "--json", "x.json"], "nope: cannot be read ("),
        (["rivals.lightning_run", "--config", "nope", "--json", "x.json"], "nope: cannot be read ("),
        (
            ["rivals.accelerate_run", "--config", DEBUG, "--json", "x.json", *ONE_UPDATE],
            "train.updates: got 1, expected at least 2: the first half is a warm-up",
        ),
    ],
)
def test_bad_input_is_refused_without_a_stack(arguments, said):
    script, *others = arguments
    done = call(f"benchmarks.{script}", *others)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


RECORDED = ROOT / "benchmarks"
ANSWERS = [  # in one flush at the end, and in many
    ["step_breakdown", "--recorded", RECORDED / "step-breakdown/h100-1gpu-recipe.json"],
    ["starts", "--out", RECORDED / "starts/h100-2gpu", "--show"],
    ["learning.recipes", "--out", RECORDED / "learning/recipes-h200", "--below", "0.00137", "--show"],
    ["learning.rates", RECORDED / "learning/learning-rate-h200-9d1bea7"],
    ["step_operations", "--config", ROOT / "configs/train/debug.yaml"],
]


def answered_into(file: int | TextIO, script: str, *arguments: object) -> tuple[int, str]:
    """Exit code, and what is said beside the answer."""
    command = [sys.executable, "-m", f"benchmarks.{script}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("call", ANSWERS, ids=lambda call: call[0])
def test_a_reader_that_has_enough_ends_a_script_quietly(call):
    reading, writing = os.pipe()
    os.close(reading)
    assert answered_into(writing, *call) == (128 + signal.SIGPIPE, "")
    os.close(writing)


@pytest.mark.parametrize("call", ANSWERS, ids=lambda call: call[0])
def test_an_answer_that_a_full_disk_refuses_ends_a_script_in_words(call):
    told = "the answer cannot be written to standard output: No space left on device"
    with Path("/dev/full").open("w") as full:
        assert answered_into(full, *call) == (1, f"{told}; make room there, then start again\n")


def test_a_file_that_a_full_disk_refuses_is_not_taken_for_the_answer(capsys):
    with pytest.raises(OSError, match="No space left on device"), refused_in_words():
        Path("/dev/full").write_text("record")
    with pytest.raises(BrokenPipeError), refused_in_words():
        raise BrokenPipeError
    assert capsys.readouterr().err == ""


def test_every_script_ends_in_words():
    scripts = [file for file in RECORDED.rglob("*.py") if "__main__" in file.read_text()]
    assert len(scripts) > 15
    assert [file.name for file in scripts if "refused_in_words()" not in file.read_text()] == []


def test_a_package_that_is_missing_is_named():
    with pytest.raises(ConfigError, match="nowhere: is not installed; pip install nowhere"):
        require_package("nowhere")


def test_memory_that_grows_late_in_the_steps_is_found(tmp_path, monkeypatch, capsys):
    steps = 60

    def train(config, out, _seed, progress):
        (out / "metrics.jsonl").write_text('{"device_names": ["CPU"], "versions": {"torch": "2.11.0"}}\n')
        assert config.cut.steps == steps
        for progress.step in range(steps):
            time.sleep(0.01)

    def sample(step: int) -> memory_growth.Sample:
        return memory_growth.Sample(step, 100.0 * (step > steps / 2), 0.0)

    monkeypatch.setattr(memory_growth, "run_training", train)
    monkeypatch.setattr(memory_growth, "sample", sample)
    monkeypatch.setattr(memory_growth, "SAMPLE_SECONDS", 0.001)
    sets = ["train.pairs_per_update=32", "train.updates=30", "recipe.batch_cut_into=2"]
    arguments = [part for override in sets for part in ("--set", override)]
    assert (
        run(monkeypatch, memory_growth, "--config", tiny_file(tmp_path), "--out", tmp_path, *arguments) == 1
    )
    assert f"{steps} steps, growth host +100.0 MiB" in capsys.readouterr().out


def test_what_memory_grew_by_names_the_commit(tmp_path, monkeypatch, capsys):
    def train(config, out, _seed, progress):
        (out / "metrics.jsonl").write_text('{"device_names": ["CPU"], "versions": {"torch": "2.11.0"}}\n')
        for progress.step in range(config.train.updates):
            time.sleep(0.01)

    monkeypatch.setattr(memory_growth, "run_training", train)
    monkeypatch.setattr(memory_growth, "SAMPLE_SECONDS", 0.001)
    arguments = ["--config", tiny_file(tmp_path), "--out", tmp_path, "--set", "train.updates=20"]

    def first_line() -> str:
        assert run(monkeypatch, memory_growth, *arguments) == 0
        return capsys.readouterr().out.splitlines()[0]

    def git(*arguments: str) -> str:
        own = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(own, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert first_line() == "CPU, torch 2.11.0, commit unknown"
    git("init")
    git("add", "tiny.yaml")
    git("commit", "--message", "One")
    git("tag", "--annotate", "--message", "v1", "v1")
    head = git("rev-parse", "HEAD")
    assert first_line() == f"CPU, torch 2.11.0, commit {head}"
    (tmp_path / "tiny.yaml").open("a").write("# changed\n")
    assert first_line() == f"CPU, torch 2.11.0, commit {head}-dirty"
