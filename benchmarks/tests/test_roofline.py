"""How far trainings are from what a GPU could do, and what a step launches."""

import json
import math
import sys

import pytest
import torch
from tiny import ROOT, tiny_config

from benchmarks.speed.roofline import PEAK_BYTES_PER_SECOND, Measured, Products, bounds
from benchmarks.speed.roofline import main as roofline
from benchmarks.speed.speed_cases import pairs_per_second
from benchmarks.speed.step_operations import LAUNCH_NOTHING, operations, table
from trainer.config import load_config
from trainer.profiling.work import flops_per_pair


@pytest.mark.parametrize("name", ["two-task-1gpu-optimized", "parity-4gpu-optimized"])
def test_the_roofline_is_of_the_same_products(name):
    config = load_config(ROOT / f"configs/train/{name}.yaml")
    pairs = 256 * sum(config.task_shares)
    found, work = bounds(config, pairs), flops_per_pair(config)
    for part in ("operator", "decoder"):
        assert found[part].flops / pairs == pytest.approx(work[part], rel=1e-3)
        assert found[part].product_seconds <= found[part].roofline_seconds


def test_the_roofline_of_recorded_trainings_is_a_row_for_each_part(monkeypatch, capsys):
    operator = ROOT / "out/records/parity/h200-4gpu-optimized.jsonl"
    whole = ROOT / "out/records/scaling/4gpu/optimized-1gpu.jsonl"
    monkeypatch.setattr(sys, "argv", ["roofline", "--operator", str(operator), "--whole", str(whole)])
    roofline()
    cells = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[2:]}
    assert cells["operator"][:2] == ["17.3", "16.8"]  # 17.3 GFLOP x 768 pairs / 790 TFLOP/s
    assert cells["both"][3] == "116.0"
    assert float(cells["operator"][3]) + float(cells["decoder"][3]) == pytest.approx(116.0, abs=0.11)


def test_a_recipes_speed_is_of_the_pairs_that_its_steps_take():
    recorded = ROOT / "out/records/scaling/1gpu-f57c183/recipe/optimized-1gpu-warm.jsonl"
    events = [json.loads(line) for line in recorded.read_text().splitlines()]
    assert pairs_per_second(events) == pytest.approx(192 / 0.02835, rel=1e-3)  # a quarter of 768 a step
    assert Measured.of(recorded).seconds == pytest.approx(4 * 0.02835, rel=1e-3)


@pytest.mark.parametrize(
    "steps", [[], [{"event": "steps", "step_seconds": [math.nan] * 2, "samples": [1] * 2}]]
)
def test_no_steps_and_steps_of_no_time_give_no_speed(steps):
    assert pairs_per_second([*steps, {"event": "run_end"}]) is None


def test_trainings_of_other_models_are_not_held_against_each_other(tmp_path, monkeypatch):
    whole = ROOT / "out/records/scaling/4gpu/optimized-1gpu.jsonl"
    start, *rest = (ROOT / "out/records/parity/h200-1gpu-operator.jsonl").read_text().splitlines()
    event = json.loads(start)
    event["config"]["model"]["depth"] = 2
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join([json.dumps(event), *rest]))
    monkeypatch.setattr(sys, "argv", ["roofline", "--operator", str(other), "--whole", str(whole)])
    with pytest.raises(SystemExit, match="their model width and depth differ"):
        roofline()


def test_a_whole_model_is_not_taken_for_an_operator(monkeypatch):
    operator = ROOT / "out/records/parity/h200-1gpu-operator.jsonl"
    whole = ROOT / "out/records/scaling/4gpu/optimized-1gpu.jsonl"
    for files, said in (
        ((whole, whole), "--operator: was trained with model.trained all; name a training with operator"),
        ((operator, operator), "--whole: was trained with model.trained operator; name a training with all"),
    ):
        monkeypatch.setattr(sys, "argv", ["roofline", "--operator", str(files[0]), "--whole", str(files[1])])
        with pytest.raises(SystemExit, match=said):
            roofline()


def test_an_operator_is_not_held_against_another_form_of_the_whole(monkeypatch):
    operator = ROOT / "out/records/parity/h200-4gpu-optimized.jsonl"
    whole = ROOT / "out/records/scaling/4gpu/baseline-1gpu.jsonl"
    monkeypatch.setattr(sys, "argv", ["roofline", "--operator", str(operator), "--whole", str(whole)])
    with pytest.raises(
        SystemExit, match=r"graph, kernels and format differ, \('model', True, True, 'bf16'\)"
    ):
        roofline()


def test_a_narrow_product_takes_as_long_as_its_memory():
    with Products() as products:
        torch.empty(4096, 16, device="meta") @ torch.empty(16, 16, device="meta")
    bytes_moved = 2 * (2 * 4096 * 16 + 16 * 16)
    assert products.seconds["rest"] == pytest.approx(bytes_moved / PEAK_BYTES_PER_SECOND)


def test_operations_that_a_step_launches_are_counted_by_where_they_come_from(tmp_path):
    kernels = ["speed.attention=one-tile", "speed.fused_pointwise=true", "speed.precision=bf16"]
    plain, own, joint = (
        operations(tiny_config(tmp_path, *chosen))
        for chosen in ([], kernels, [*kernels, "speed.joint_decode=true"])
    )
    depth = tiny_config(tmp_path).model.depth
    assert [one.by_name["one_tile_attention"] for one in (plain, own, joint)] == [0, depth, depth]
    # Of each block the product of qkv, its bias rounded, and the kernel.
    assert own.by_place["forward", "switches/model/attention/back_ends.py"] == 3 * depth
    assert joint.by_name["decoder_tail"] == own.by_name["decoder_tail"] / 2
    assert joint.by_name.total() < own.by_name.total() < plain.by_name.total()
    assert LAUNCH_NOTHING.isdisjoint(plain.by_name)
    flex = operations(tiny_config(tmp_path, "speed.attention=flex", "speed.compile=blocks"))
    assert flex.by_name == plain.by_name
    assert table(own).splitlines()[0] == f"{own.by_name.total():6} operations"
