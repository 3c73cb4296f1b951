"""The comparison with a library FNO, with another network in the place of the library's, and its pictures."""

import importlib
import json
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from tiny import tiny_file
from torch import nn

from benchmarks.learning.fields import Example
from benchmarks.learning.pictures import _draw_maps
from trainer.data.conditions import condition_size

TASKS = ("advection1d", "darcy2d")


class Pointwise(nn.Module):
    def __init__(self, n_modes, in_channels, out_channels, hidden_channels, n_layers) -> None:
        super().__init__()
        self.layer = nn.Linear(in_channels, out_channels)

    def forward(self, channels):
        return self.layer(channels.movedim(1, -1)).movedim(-1, 1)


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """The command on both tasks, behind a training that is not run."""
    monkeypatch.setitem(sys.modules, "benchmarks.learning.library", SimpleNamespace(FNO=Pointwise))
    compare = importlib.import_module("benchmarks.learning.compare")
    errors = ("persistence_loss", "val_loss", "nrmse")
    evaluation = {"training_seconds": 0.02, **{f"{error}/{task}": 0.5 for error in errors for task in TASKS}}
    monkeypatch.setattr(compare, "trained", lambda _: {"parameters": 7, "evaluations": [evaluation]})
    monkeypatch.setattr(compare, "version", {"neuraloperator": "2.0.0"}.get)
    for name in ("example_fields", "draw_fields", "draw_curves"):
        monkeypatch.setattr(compare, name, lambda *_: None)
    arguments = ["--config", str(tiny_file(tmp_path)), "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["compare", *arguments, "--set", f"data.tasks=[{', '.join(TASKS)}]"])
    return compare


def test_numbers_have_the_size_of_every_model_and_the_library_s_version(compare, tmp_path):
    assert compare.main() == 0
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["versions"] == {"neuraloperator": "2.0.0", "torch": torch.__version__}
    assert numbers["trainer"]["parameters"] == 7
    weights_and_bias = 1 + condition_size(TASKS) + 1
    assert {row["parameters"] for rows in numbers["fno"].values() for row in rows} == {weights_and_bias}
    assert numbers["unfinished"] == []


def test_numbers_of_a_comparison_that_was_cut_off_name_what_is_missing(compare, tmp_path, monkeypatch):
    train_fno = compare.train_fno

    def cut_off(config, data, task, *rest):
        if task == TASKS[1]:
            raise KeyboardInterrupt
        return train_fno(config, data, task, *rest)

    monkeypatch.setattr(compare, "train_fno", cut_off)
    with pytest.raises(KeyboardInterrupt):
        compare.main()
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert list(numbers["fno"]) == [f"FNO for {TASKS[0]}"]
    assert numbers["unfinished"] == [TASKS[1]]


def test_maps_name_their_axes():
    places, field = [Mock(), Mock(), Mock()], np.eye(4)
    _draw_maps(Mock(), places, Example("darcy2d", field, field, field))
    axes = [(place.set.call_args.kwargs["xlabel"], place.set.call_args.kwargs["ylabel"]) for place in places]
    assert axes == [("x", "y")] * 3
