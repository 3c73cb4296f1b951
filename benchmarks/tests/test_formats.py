"""The benchmark that holds fp16 against bf16, by seeds."""

import json
import math
import sys
from pathlib import Path

import pytest

from benchmarks.learning import formats
from trainer.errors import ConfigError


def write_training(
    folder: Path, name: str, losses: list[tuple[float, float]], milliseconds: float, ended: bool = True
) -> None:
    """Two steps and an evaluation for each pair of losses, of advection1d and darcy2d."""
    start = {"event": "run_start", "config": {"train": {"updates": 10, "pairs_per_update": 4}}}
    lines = [start]
    for number, (advection, darcy) in enumerate(losses, 1):
        steps = {"event": "steps", "step_seconds": [milliseconds / 1e3] * 2}
        metrics = {
            "val_loss/advection1d": advection,
            "val_loss/darcy2d": darcy,
            "nrmse/advection1d": math.sqrt(advection),
            "nrmse/darcy2d": math.sqrt(darcy),
        }
        lines += [
            steps,
            {
                "event": "evaluation",
                "step": 2 * number,
                "samples_seen": 8 * number,
                "val_loss": (advection + darcy) / 2,
                "metrics": metrics,
            },
        ]
    lines += [{"event": "run_end", "skipped_updates": 1 if "fp16" in name else 0}] if ended else []
    (folder / name).mkdir(parents=True)
    (folder / name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def printed(folder: Path, monkeypatch, capfd) -> list[list[str]]:
    monkeypatch.setattr(sys, "argv", ["formats", str(folder)])
    formats.main()
    lines = capfd.readouterr().out.splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line and "---" not in line]


def test_formats_are_compared_by_seed(tmp_path, monkeypatch, capfd):
    for seed, luck in ((1, 1.0), (2, 4.0)):
        write_training(tmp_path, f"baseline-{seed}", [(0.04 * luck, 0.16 * luck)], 300)
        write_training(tmp_path, f"optimized-bf16-{seed}", [(0.16 * luck, 0.16 * luck)], 100)
        write_training(tmp_path, f"optimized-fp16-{seed}", [(0.04 * luck, 0.16 * luck)], 110)
    write_training(tmp_path, "optimized-fp16-3", [(0.01, 0.01)], 100)  # without another of its seed
    write_training(tmp_path, "recipe-bf16-1", [(1.0, 1.0)], 20, ended=False)
    head, *forms, ratios, one, other, both, _ = printed(tmp_path, monkeypatch, capfd)
    assert head[2:] == ["ms a step", "held-out loss", "NRMSE advection1d", "NRMSE darcy2d", "skipped updates"]
    assert forms[0] == ["baseline", "2", "300", "0.25", "0.3", "0.6", "0"]
    assert [form[:2] for form in forms] == [
        ["baseline", "2"],
        ["optimized-bf16", "2"],
        ["optimized-fp16", "3"],
    ]
    assert ratios[0] == "ratio"
    assert one[0] == "optimized-bf16 / baseline"
    assert one[4] == "2x +- 0.0%"
    assert other[0] == "optimized-fp16 / baseline"
    assert both[:3] == ["optimized-fp16 / optimized-bf16", "2", "1.1x +- 0.0%"]
    assert both[4:] == ["0.5x +- 0.0%", "1x +- 0.0%"]


def test_a_recipe_is_timed_until_it_is_as_good_as_the_baseline_of_its_seed(tmp_path, monkeypatch, capfd):
    write_training(tmp_path, "baseline-1", [(0.1, 0.3)], 300)
    write_training(tmp_path, "recipe-bf16-1", [(0.5, 0.3), (0.1, 0.3)], 10)
    write_training(tmp_path, "recipe-fp16-1", [(0.3, 0.3), (0.05, 0.3)], 20)
    # All are good where the first crosses 0.2 in the mean and 0.1 in advection1d; darcy2d is from the start.
    *_, bf16, fp16, both = printed(tmp_path, monkeypatch, capfd)
    assert bf16 == ["recipe-bf16", "1", "0.04", "0.04"]
    assert fp16 == ["recipe-fp16", "1", "0.07", "0.07"]
    assert both == ["recipe-fp16 / recipe-bf16", "1", "1.8x", "1.8x"]


def test_a_recipe_that_never_gets_there_is_counted(tmp_path, monkeypatch, capfd):
    for seed in (1, 2):
        write_training(tmp_path, f"baseline-{seed}", [(0.1, 0.3)], 300)
        write_training(tmp_path, f"recipe-bf16-{seed}", [(0.5, 0.3), (0.1 * seed, 0.3)], 10)
    *_, line = printed(tmp_path, monkeypatch, capfd)
    assert line == ["recipe-bf16", "2", "0.04 by 1 of 2", "0.04 by 1 of 2"]


def test_a_folder_without_a_training_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["formats", str(tmp_path)])
    with pytest.raises(
        ConfigError, match=r"has no FORM-SEED/metrics\.jsonl .*benchmarks/on-gpus\.sh OUT formats"
    ):
        formats.main()
