"""The verdict of the GPU check, on what it recorded and on what it must not let pass."""

import json
import os
import subprocess
import sys

import pytest
from tiny import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from gpu_check_cases import Case, cases
from gpu_check_verdict import expected_read_backs, wrong

RECORDS = ROOT / "benchmarks/gpu-check"
CASES = {case.name: case for case in cases("cuda")}
UNCOMPARED = "compile-max-autotune"  # recorded by itself; benchmarks/gpu-check/README.md compares it


def recorded() -> dict[str, dict]:
    lines = [line for file in sorted(RECORDS.glob("*.jsonl")) for line in file.read_text().splitlines()]
    return {r["case"]: r for r in map(json.loads, lines) if "step_seconds" in r}


def test_what_every_case_sets_can_be_seen():
    for case in CASES.values():
        assert expected_read_backs(case), case.name


def test_what_is_recorded_was_on_and_kept_the_numbers():
    found = {name: wrong(record, CASES[name]) for name, record in recorded().items()}
    assert len(found) > 50
    assert {name: texts for name, texts in found.items() if texts} == {
        UNCOMPARED: ["not compared with plain"]
    }


@pytest.mark.parametrize(
    ("case", "change", "expected"),
    [
        ("one-tile", {"effective": {"attention": "cudnn"}}, "attention reads back cudnn, asked for one-tile"),
        ("fused-pointwise", {"effective": {"fused_layers": 0}}, "fused_layers reads back 0, asked for on"),
        ("flat-nccl", {"effective": {"nccl": "default"}}, "nccl reads back default"),
        ("cuda-graph", {"replay_deviation": 1e-6}, "replayed steps are 1.0e-06 from eager ones"),
        ("cuda-graph", {"losses": [float("nan")]}, "losses are not finite"),
        ("one-tile", {"loss_deviation_10_steps": 0.04}, "its first 10 losses are 4.0e-02 from plain's"),
        ("plain-fp32", {"losses": [float("inf")]}, "losses are not finite"),
        ("cuda-graph-fp32", {"loss_deviation_10_steps": 0.002}, "its first 10 losses are 2.0e-03"),
        ("fp16", {"weight_deviation": 0.2}, "its weights are 2.0e-01 from plain's"),
        ("one-tile", {"host_waits": "called a synchronizing operation"}, "the host waits: called"),
    ],
)
def test_what_is_off_or_far_is_named(case, change, expected):
    record = recorded()[case]
    effective = {**record["effective"], **change.get("effective", {})}
    (text,) = wrong({**record, **change, "effective": effective}, CASES[case])
    assert expected in text


def test_without_a_gpu_it_says_so_and_records_nothing(tmp_path):
    command = [sys.executable, "benchmarks/gpu_check.py", "--out", str(tmp_path / "out"), "--only", "plain"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "--device: got cuda, but torch sees no GPU here; --device cpu tries the script" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_last_of_two_settings_is_the_one_that_counts():
    case = Case("two", ("speed.compile=model", "speed.compile=blocks"))
    assert ("compile", "blocks") in expected_read_backs(case)
    assert ("compile", "model") not in expected_read_backs(case)
