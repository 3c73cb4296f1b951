"""The benchmark of a recipe's trajectories, and what the four-GPU recipe rests on."""

import json
import sys

import pytest
from tiny import TINY, tiny_config

from benchmarks.harness.recorded_config import recorded_config
from benchmarks.learning import physics
from trainer.config import load_config

RECORDED = physics.ROOT / "out/records/learning/physics-h200"


def test_each_form_is_a_config_that_can_train():
    for config, settings in physics.FORMS.values():
        path = physics.ROOT / f"configs/train/{config}.yaml"
        assert load_config(path, [*physics.ALWAYS, *settings]).evaluation.rollout_trajectories == 2


def test_the_four_gpu_recipe_is_the_form_that_keeps_its_mean_at_eight_seeds():
    shipped = load_config(physics.ROOT / f"configs/train/{physics.FOUR_GPU_RECIPE}.yaml").recipe
    records = sorted(RECORDED.glob("128-pairs-*.jsonl"))
    assert len(records) == 8
    for record in records:
        start, *events = (json.loads(line) for line in record.read_text().splitlines())
        last = [event for event in events if event["event"] == "evaluation"][-1]
        assert recorded_config(start["config"], record.name).recipe == shipped
        assert last["metrics"]["mass_gap_max/advection1d"] < 0.15


def test_a_second_call_trains_only_what_is_missing(tmp_path, monkeypatch, capsys):
    tiny_config(tmp_path)
    (tmp_path / "tiny.yaml").write_text(json.dumps({**TINY, "train": {**TINY["train"], "updates": 3}}))
    monkeypatch.setattr(physics, "FORMS", {"tiny": (str(tmp_path / "tiny"), ())})
    monkeypatch.setattr(physics, "ALWAYS", (f"data.root={tmp_path / 'data'}",))
    call = ["physics", "--out", str(tmp_path / "out"), "--form", "tiny", "--seeds"]
    for seeds in (["1"], ["1", "2"]):
        monkeypatch.setattr(sys, "argv", [*call, *seeds])
        assert physics.main() == 0
    said = capsys.readouterr()
    assert said.err.count("tiny-1: trains") == said.err.count("tiny-2: trains") == 1
    assert [line.split("|")[2].strip() for line in said.out.splitlines()[-2:]] == ["1", "2"]


def test_an_error_of_this_call_ends_what_trains(tmp_path, monkeypatch):
    """As a signal does: a launch that goes on would disturb what is measured next."""
    monkeypatch.setattr(physics, "FORMS", {"tiny": ("absent", ())})
    ended = []
    monkeypatch.setattr(physics, "end", ended.append)
    monkeypatch.setattr(physics, "_has_ended", lambda path: path.parent != tmp_path and 1 / 0)
    monkeypatch.setattr(sys, "argv", ["physics", "--out", str(tmp_path), "--form", "tiny", "--seeds", "1"])
    with pytest.raises(ZeroDivisionError):
        physics.main()
    assert len(ended) == 1
