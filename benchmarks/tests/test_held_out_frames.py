"""The benchmark that says what every n-th held-out frame tells of all."""

import re
import sys

import numpy as np
import pytest
from tiny import events, tiny_config

from benchmarks.learning import held_out_frames
from trainer.run.training import Progress, run_training


def test_it_says_how_far_every_nth_frame_is_off_all():
    by_frame = np.array([1.0, 3.0, 2.0, 2.0])  # mean 2
    assert held_out_frames.off(by_frame, 1) == (0, 0)
    assert held_out_frames.off(by_frame, 2) == pytest.approx((-0.25, 0.25))
    assert held_out_frames.off(by_frame, 3) == pytest.approx((-0.25, 0.5))


def test_its_means_are_those_that_the_training_was_evaluated_to(tmp_path, monkeypatch, capsys):
    config = tiny_config(tmp_path, "data.frame_strides=[1]", "recipe.average_updates=4")
    run_training(config, tmp_path / "out", 0, Progress())
    (task, losses, nrmse), *others = held_out_frames.of_checkpoint(tmp_path / "out" / "checkpoint.pt")
    found = events(tmp_path / "out", "evaluation")[-1]["metrics"]
    assert (task, others, len(losses)) == ("advection1d", [], 5)
    assert losses.mean() == pytest.approx(found["val_loss/advection1d"], rel=1e-5)
    assert nrmse.mean() == pytest.approx(found["nrmse/advection1d"], rel=1e-5)
    monkeypatch.setattr(sys, "argv", ["held_out_frames", str(tmp_path / "out" / "checkpoint.pt")])
    held_out_frames.main()
    assert re.search(r"advection1d, every 2: loss [+-][0-9.]+%, at most ", capsys.readouterr().out)
