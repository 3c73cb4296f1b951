"""The verdict of the GPU check, on what it recorded and on what it must not let pass."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from gpu_check_cases import Case, cases
from gpu_check_verdict import expected_read_backs, wrong

RECORDS = ROOT / "benchmarks/gpu-check"
CASES = {case.name: case for case in cases("cuda")}
UNCOMPARED = "compile-max-autotune"  # recorded by itself; benchmarks/gpu-check/README.md compares it
NOT_RECORDED = {"attention-flash3"}  # its package is not there


def recorded(file: Path) -> dict[str, dict]:
    return {r["case"]: r for r in map(json.loads, file.read_text().splitlines()) if "step_seconds" in r}


def verdict(case: str, records: dict[str, dict]) -> list[str]:
    return wrong(records[case], CASES[case], records.get(CASES[case].against))


def test_what_every_case_sets_can_be_seen():
    for case in CASES.values():
        assert expected_read_backs(case), case.name


@pytest.mark.parametrize("file", sorted(RECORDS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_what_is_recorded_was_on_and_kept_the_numbers(file):
    records = recorded(file)
    found = {name: texts for name in records if (texts := verdict(name, records))}
    assert found == ({UNCOMPARED: ["not compared with plain"]} if UNCOMPARED in records else {})


def test_nearly_every_case_is_recorded():
    found = {name for file in RECORDS.glob("*.jsonl") for name in recorded(file)}
    assert set(CASES) - found == NOT_RECORDED


def test_fp8_products_are_off_by_their_rounding_alone():
    line = (RECORDS / "kernel-errors.txt").read_text().splitlines()[0]
    errors = json.loads(line.removeprefix("errors of our kernels, bfloat16: "))["FP8 products"]
    assert 0.02 < errors["out"] < 0.05  # half a step of 3 bits of mantissa is 6% of a factor, at most
    assert 0.03 < errors["x"] < 0.1  # of 2 bits 12%
    assert errors["weight"] < 0.005  # bf16


def off(place: int, factor: float) -> Callable[[list[float]], list[float]]:
    """One loss is that many times the reference's."""
    return lambda losses: [loss * (factor if n == place else 1) for n, loss in enumerate(losses)]


ALL = {name: recorded(file) for file in RECORDS.glob("h200-?gpu.jsonl") for name in recorded(file)}


@pytest.mark.parametrize(
    ("case", "change", "expected"),
    [
        ("one-tile", {"effective": {"attention": "cudnn"}}, "attention reads back cudnn, asked for one-tile"),
        ("fused-pointwise", {"effective": {"fused_layers": 0}}, "fused_layers reads back 0, asked for on"),
        ("flat-nccl", {"effective": {"nccl": "default"}}, "nccl reads back default"),
        ("cuda-graph", {"replay_deviation": 1e-6}, "replayed steps are 1.0e-06 from eager ones"),
        ("cuda-graph", {"losses": [float("nan")]}, "losses are not finite"),
        ("one-tile", {"losses": off(5, 1.04)}, "its first 10 losses are 4.0e-02 from plain's"),
        ("fp16", {"losses": off(0, 1.04)}, "its loss before the first step is 4.0e-02 from plain's"),
        ("plain-fp32", {"losses": [float("inf")]}, "losses are not finite"),
        ("cuda-graph-fp32", {"losses": off(9, 1.002)}, "its first 10 losses are 2.0e-03"),
        ("fp16", {"weight_deviation": 0.2}, "its weights are 2.0e-01 from plain's"),
        ("one-tile", {"host_waits": "called a synchronizing operation"}, "the host waits: called"),
    ],
)
def test_what_is_off_or_far_is_named(case, change, expected):
    records = ALL[case]
    record = records[case]
    changed = {**record, **change, "effective": {**record["effective"], **change.get("effective", {})}}
    if callable(losses := change.get("losses")):
        changed["losses"] = losses(records[CASES[case].against]["losses"])
    (text,) = verdict(case, {**records, case: changed})
    assert expected in text


def test_one_that_was_not_compared_says_so():
    records = ALL["one-tile"]
    assert verdict("one-tile", {"one-tile": records["one-tile"]}) == ["not compared with plain"]


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
