"""The benchmark that trains by several recipes until each is as good as the baseline ends."""

import json
import sys

import pytest
from tiny import ROOT, tiny_file

from benchmarks.harness.recorded_config import recorded_config
from benchmarks.learning import recipes
from trainer.config import load_config
from trainer.config.load import config_hash, to_plain


def an_evaluation(step: int, val_loss: float) -> dict:
    return {"event": "evaluation", "step": step, "samples_seen": 10 * step, "val_loss": val_loss}


def a_training(*evaluations: dict) -> list[dict]:
    """Ten steps of one to ten seconds, of 10 pairs each."""
    return [
        {"event": "run_start", "config": {"train": {"updates": 10, "pairs_per_update": 10}}},
        {"event": "phase", "name": "import", "seconds": 2.0},
        {"event": "phase", "name": "capture", "seconds": 5.0},
        {"event": "steps", "step_seconds": [1.0, 2.0, 3.0, 4.0]},
        {"event": "steps", "step_seconds": [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]},
        *evaluations,
        {"event": "phase", "name": "checkpoint", "seconds": 100.0},
    ]


def run(monkeypatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["recipes", *map(str, arguments)])
    return recipes.main()


def test_quality_is_reached_between_two_evaluations():
    events = a_training(an_evaluation(2, 0.9), an_evaluation(4, 0.5), an_evaluation(6, 0.1))
    # From 10 seconds of steps to 21, a quarter of the way; of 100 pairs from 40 to 60.
    assert recipes.reached(events, 0.4) == pytest.approx((5500.0, 7.0, 12.75, 0.45, 0.1, None))


def test_quality_may_be_reached_at_the_first_evaluation_or_never():
    events = a_training(an_evaluation(2, 0.9), an_evaluation(4, 0.5))
    assert recipes.reached(events, 0.95)[2:4] == pytest.approx((3.0, 0.2))
    assert recipes.reached(events, 0.1)[2:] == (None, None, 0.5, None)


def test_quality_that_is_lost_again_is_reached_from_where_it_stays():
    lost = a_training(*map(an_evaluation, (2, 4, 6, 8), (0.9, 0.3, 0.5, 0.1)))
    never = a_training(*map(an_evaluation, (2, 4, 6, 8), (0.9, 0.8, 0.5, 0.1)))
    assert recipes.reached(lost, 0.4)[2] == recipes.reached(never, 0.4)[2]
    assert recipes.reached(lost[:-2], 0.4)[2] is None


def of_tasks(*losses: tuple[float, float]) -> list[dict]:
    """A training that was evaluated at steps 2, 4 and so on."""
    return a_training(
        *(
            {
                **an_evaluation(step, (a + b) / 2),
                "metrics": {"val_loss/advection1d": a, "val_loss/darcy2d": b},
            }
            for step, (a, b) in zip(range(2, 11, 2), losses, strict=False)
        )
    )


def test_each_task_is_reached_when_all_are_at_once():
    limits = {"advection1d": 0.3, "darcy2d": 0.5}
    # Half of the way from 10 seconds of steps to 21.
    events = of_tasks((0.9, 0.9), (0.5, 0.1), (0.1, 0.3))
    assert recipes.reached(events, 0.6, limits).each_seconds == pytest.approx(15.5)
    assert recipes._is_reached(events, 0.6, limits)
    # One that rises again when the other comes down.
    for training, below in ((of_tasks((0.1, 0.9), (0.9, 0.1)), 0.6), (events, 0.1)):
        assert recipes.reached(training, below, limits).each_seconds is None
        assert not recipes._is_reached(training, below, limits)


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_a_recipe_is_the_same_whatever_the_shipped_one_is(gpus):
    shipped = ROOT / f"configs/train/two-task-{gpus}gpu-recipe.yaml"
    others = ["recipe.schedule_updates=200", "recipe.task_shares=[3, 1]", "recipe.inverse_every=2"]
    for name, recipe in recipes.RECIPES.items():
        for sets in ([], others):
            assert load_config(shipped, [*sets, *recipes.settings(name)]).recipe == recipe


LEARNING = ROOT / "out/records/learning"
RECORDS = [*LEARNING.glob("recipes-h200/*.jsonl"), *LEARNING.glob("recipes-?gpu-*/seed-*/*.jsonl")]


def test_what_is_recorded_is_the_recipe_of_its_name():
    assert RECORDS
    for record in RECORDS:
        start = json.loads(record.read_text().splitlines()[0])
        assert recorded_config(start["config"], record.name).recipe == recipes.RECIPES[record.stem]


@pytest.mark.parametrize("gpus", [1, 2])
def test_the_shipped_recipe_is_one_of_those_that_are_recorded(gpus):
    shipped = load_config(ROOT / f"configs/train/two-task-{gpus}gpu-recipe.yaml").recipe
    measured = LEARNING / ("recipes-1gpu-h200" if gpus == 1 else "recipes-2gpu-h100") / "seed-0-average"
    assert shipped in [recipes.RECIPES[record.stem] for record in measured.iterdir()]


@pytest.fixture
def measured_before(tmp_path, monkeypatch):
    """A call on a folder in which another one has measured 256-points; further options are appended."""
    config, sets = tiny_file(tmp_path), ("train.pairs_per_update=64", "speed.wrapper=ddp")
    trained = load_config(config, recipes.settings("256-points", sets))
    start = {
        **{"event": "run_start", "config": to_plain(trained), "config_hash": config_hash(trained)},
        **{"seed": 1, "world_size": 1},
    }
    (tmp_path / "256-points.jsonl").write_text(f"{json.dumps(start)}\n")
    call = ["--out", tmp_path, "--config", config, "--only", "256-points", "--below", 1]
    call += [part for setting in sets for part in ("--set", setting)]
    return lambda *further: run(monkeypatch, *call, *further)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--seed", 2, "256-points.jsonl has seed 1, this call 2; name another folder"),
        ("--gpus", 2, "256-points.jsonl has world_size 1, this call 2; name another folder"),
        ("--set", "train.updates=300", "256-points.jsonl has config_hash "),
    ],
)
def test_what_another_call_has_measured_is_not_taken_for_this_ones(
    measured_before, capsys, option, value, told
):
    with pytest.raises(SystemExit):
        measured_before(option, value)
    assert told in capsys.readouterr().err


def test_what_is_shown_is_what_was_measured_whatever_call_made_it(monkeypatch, capsys):
    assert (
        run(monkeypatch, "--out", ROOT / "out/records/learning/recipes-h200", "--below", 0.00137, "--show")
        == 0
    )
    told = capsys.readouterr().out
    measured = [record.stem for record in RECORDS if record.parent.name == "recipes-h200"]
    assert measured
    assert all(f"| {name} | " in told for name in measured)
    assert "not measured" not in told


def test_one_that_was_ended_is_not_said_to_have_missed_it(tmp_path):
    ended, whole = (
        a_training(an_evaluation(2, 0.5)),
        [*a_training(an_evaluation(2, 0.5)), {"event": "run_end"}],
    )
    for name, events in (("1024-points", ended), ("512-points", whole)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    told = recipes.table(tmp_path, ["1024-points", "512-points"], 0.1)
    assert "| 1024-points | 5500.0 | ended before |" in told
    assert "| 512-points | 5500.0 | not reached |" in told


def test_what_lies_behind_the_last_whole_line_is_not_read(tmp_path):
    lines = [json.dumps(event) for event in a_training(an_evaluation(2, 0.5))]
    (tmp_path / "1024-points.jsonl").write_text("\n".join([*lines, '{"event": "eval']))
    assert "| 0.50000 |" in recipes.table(tmp_path, ["1024-points"], 0.6)
