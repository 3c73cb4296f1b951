"""The survey of the tasks' generated data."""

import re
import sys

import numpy as np
import pytest
from tiny import ensure_files, tiny_config

from benchmarks.learning import task_survey
from trainer.data.layouts.detect import open_field_file


def test_no_change_is_as_wrong_as_the_field_has_moved(tmp_path):
    config = tiny_config(tmp_path, "data.advection1d.betas=[0.5]", "data.advection1d.max_wave_number=1")
    (path,) = ensure_files(config.data)  # a wave of period 1 that moves by 0.1 from frame to frame
    found = task_survey.of_no_change([open_field_file(path)], 2)
    assert found == pytest.approx(2 * np.sin(np.pi * 0.2), rel=1e-4)


def test_it_prints_a_line_per_task(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(task_survey, "POINTS", {1: 32, 2: 32})
    tasks = ["shallow_water2d", "diffusion_sorption1d", "darcy2d"]
    arguments = ["task_survey", "--out", str(tmp_path), "--trajectories", "2", "--tasks", *tasks]
    monkeypatch.setattr(sys, "argv", arguments)
    task_survey.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("wrote")]
    assert [line.partition(":")[0] for line in lines] == tasks
    for line in lines:
        nrmse, stride = re.search(r" of the CPU; persistence NRMSE ([0-9.]+) at stride (\d+) ", line).groups()
        assert float(nrmse) > 0.05, line
        assert f"{stride}: {nrmse}" in line
