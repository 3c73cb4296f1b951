"""The benchmark that says what a number format costs a trained model."""

import sys

import pytest
from tiny import events, tiny_config

from benchmarks.learning import rounding
from trainer.run.training import Progress, run_training


def test_a_coarser_format_is_further_off_and_float32_is_what_the_training_was_evaluated_in(
    tmp_path, monkeypatch, capsys
):
    run_training(tiny_config(tmp_path), tmp_path / "out", 0, Progress())
    monkeypatch.setattr(
        sys, "argv", ["rounding", str(tmp_path / "out" / "checkpoint.pt"), "--micro-steps", "2"]
    )
    capsys.readouterr()  # what the training said
    rounding.main()
    _, _, *lines = capsys.readouterr().out.splitlines()
    rows = {
        cells[0]: cells[1:] for cells in ([cell.strip() for cell in line[1:-1].split("|")] for line in lines)
    }
    assert [*rows] == ["fp32", "fp16", "bf16", "fp32, another update"]
    loss = events(tmp_path / "out", "evaluation")[-1]["metrics"]["val_loss/advection1d"]
    assert float(rows["fp32"][0]) == pytest.approx(loss, rel=1e-3)
    off = {form: float(cells[-1].rstrip("%")) for form, cells in rows.items() if form != "fp32"}
    assert 0 < off["fp16"] < off["bf16"] < off["fp32, another update"]
