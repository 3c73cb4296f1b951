"""The benchmark that trains by several recipes until each is as good as the baseline ends."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny import ROOT, tiny_file

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


def test_a_task_that_was_not_trained_is_named(measured_before, tmp_path, capsys):
    for further in ((), ("--show",)):
        with (tmp_path / "256-points.jsonl").open("a") as record:
            record.write(f"{json.dumps(an_evaluation(2, 0.5))}\n")
        with pytest.raises(SystemExit) as ended:
            measured_before("--each-below", "darcy2d=1", *further)
        assert ended.value.code == 2
        assert "--each-below: darcy2d is no" in capsys.readouterr().err


@pytest.mark.parametrize("each", ["heat=1", "darcy2d", "darcy2d=nan", "darcy2d=-1"])
def test_a_task_or_loss_that_is_none_is_refused(tmp_path, monkeypatch, capsys, each):
    with pytest.raises(SystemExit):
        run(monkeypatch, "--out", tmp_path / "out", "--below", 1, "--each-below", each)
    assert f'got "{each}", expected a task and its loss such as darcy2d=0.002' in capsys.readouterr().err


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_a_recipe_is_the_same_whatever_the_shipped_one_is(gpus):
    shipped = ROOT / f"configs/train/two-task-{gpus}gpu-recipe.yaml"
    others = ["recipe.schedule_updates=200", "recipe.task_shares=[3, 1]", "recipe.inverse_every=2"]
    for name, recipe in recipes.RECIPES.items():
        for sets in ([], others):
            assert load_config(shipped, [*sets, *recipes.settings(name)]).recipe == recipe


LEARNING = ROOT / "benchmarks/learning"
RECORDS = [*LEARNING.glob("recipes-h200/*.jsonl"), *LEARNING.glob("recipes-?gpu-*/seed-*/*.jsonl")]


@pytest.mark.parametrize(
    "record", RECORDS, ids=lambda path: f"{path.parents[1].name}-{path.parent.name}-{path.stem}"
)
def test_what_is_recorded_is_the_recipe_of_its_name(record):
    recorded = json.loads(record.read_text().splitlines()[0])["config"]["recipe"]
    assert recorded.pop("batch_doubles_after") == []  # which the trainer had then
    # Than the first of these records.
    newer = {"schedule_updates": None, "warmup_updates": None, "average_updates": None}
    assert {**newer, **recorded} == json.loads(json.dumps(asdict(recipes.RECIPES[record.stem])))


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_the_shipped_recipe_is_one_of_those_that_are_recorded(gpus):
    shipped = load_config(ROOT / f"configs/train/two-task-{gpus}gpu-recipe.yaml").recipe
    measured = LEARNING / ("recipes-1gpu-h200" if gpus == 1 else "recipes-2gpu-h100") / "seed-0-average"
    assert shipped in [recipes.RECIPES[record.stem] for record in measured.iterdir()]


@pytest.mark.parametrize(
    ("gpus", "launched_by"),
    [(1, []), (2, ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"])],
)
def test_a_recipe_is_trained_on_as_many_gpus_as_are_named(tmp_path, monkeypatch, gpus, launched_by):
    launches = []

    def launch(command: list[str], **_: object) -> subprocess.Popen:
        launches.append(command)
        return subprocess_popen(["true"])

    subprocess_popen = subprocess.Popen
    monkeypatch.setattr(recipes.subprocess, "Popen", launch)
    run(monkeypatch, "--out", tmp_path, "--below", 1, "--only", "256-points-16th-falling-90", "--gpus", gpus)
    ((_, *command),) = launches
    config = f"configs/train/two-task-{gpus}gpu-recipe.yaml"
    assert command[: len(launched_by) + 5] == [*launched_by, "-m", "trainer", "train", "--config", config]
    assert "recipe.schedule_updates=90" in command


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


def test_pairs_that_the_ranks_cannot_share_are_refused_before_a_launch(measured_before, capsys):
    with pytest.raises(SystemExit):
        measured_before("--set", "train.pairs_per_update=80", "--gpus", 2)
    assert "got 80, expected a multiple of world size 2" in capsys.readouterr().err


def test_a_schedule_longer_than_the_training_is_refused(measured_before, capsys):
    with pytest.raises(SystemExit):
        measured_before("--only", "256-points-16th-falling-180", "--set", "train.updates=100")
    assert (
        "train.updates: got 100, but the rate of 256-points-16th-falling-180 falls" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("held_out", "more", "trained"),
    [(1.5, [], "trained 256-points"), (1.5, [{"event": "run_end"}], ""), (0.5, [], "")],
)
def test_one_that_a_higher_limit_ended_is_trained_again(
    measured_before, tmp_path, monkeypatch, capsys, held_out, more, trained
):
    _, *events = [*a_training(an_evaluation(2, held_out)), *more]
    with (tmp_path / "256-points.jsonl").open("a") as record:
        record.writelines(f"{json.dumps(event)}\n" for event in events)
    monkeypatch.setattr(recipes, "_train", lambda name, _: print(f"trained {name}"))
    assert measured_before() == (1 if trained else 0)
    assert capsys.readouterr().out.startswith(trained or "| recipe ")


def test_how_many_are_trained_and_for_how_long_is_told_before_the_first(
    measured_before, tmp_path, monkeypatch, capsys
):
    def train(_name: str, _options: object) -> None:
        trained.append(capsys.readouterr().err)

    trained: list[str] = []
    monkeypatch.setattr(recipes, "_train", train)
    with (tmp_path / "256-points.jsonl").open("a") as record:
        record.writelines(f"{json.dumps(event)}\n" for event in a_training(an_evaluation(2, 0.5))[1:])
    names = ["256-points", "512-points", "1024-points"]
    told = "recipes to train: 2, each for 120 s at most, all for {} s; --only names fewer\n"
    for seconds, in_all in ((3600, 240), (150, 150)):  # of which the second is not begun
        measured_before("--only", *names, "--seconds", seconds)
        assert trained.pop(0) == told.format(in_all)
        assert all(later == "" for later in trained)
        trained.clear()
    measured_before("--only", *names, "--show")
    measured_before("--only", "256-points")
    assert (trained, capsys.readouterr().err) == ([], "")


def test_what_is_shown_is_what_was_measured_whatever_call_made_it(monkeypatch, capsys):
    assert (
        run(monkeypatch, "--out", ROOT / "benchmarks/learning/recipes-h200", "--below", 0.00137, "--show")
        == 0
    )
    told = capsys.readouterr().out
    measured = [record.stem for record in RECORDS if record.parent.name == "recipes-h200"]
    assert measured
    assert all(f"| {name} | " in told for name in measured)
    assert "not measured" not in told


def test_a_folder_without_a_measured_recipe_is_not_shown_as_one(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, "--out", tmp_path / "none", "--below", 1, "--show")
    assert ended.value.code == 2
    assert f"--show: {tmp_path / 'none'} has no RECIPE.jsonl of a recipe in it" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "line", ["{", "[]", "{}", "\x00", '{"event": "evaluation", "step": 2, "val_loss": null}']
)
@pytest.mark.parametrize("further", [(), ("--show",)])
def test_a_damaged_record_is_named_and_kept(measured_before, tmp_path, capsys, line, further):
    record = tmp_path / "256-points.jsonl"
    record.write_text(damaged := f"{record.read_text()}{line}\n")
    with pytest.raises(SystemExit) as ended:
        measured_before(*further)
    assert ended.value.code == 2
    assert f"--out: line 2 of {record} is no event; move it away" in capsys.readouterr().err
    assert record.read_text() == damaged


def test_a_training_ends_when_it_is_good_enough_and_is_kept(tmp_path, monkeypatch, capsys):
    endless = [
        "train.updates=100000",
        "train.pairs_per_update=64",
        "evaluation.every_updates=2",
        "evaluation.rollout_trajectories=0",
    ]
    sets = [part for setting in endless for part in ("--set", setting)]
    options = ["--out", tmp_path / "out", "--config", tiny_file(tmp_path), "--only", "1024-points", *sets]
    assert run(monkeypatch, *options, "--below", 100) == 0
    assert "| 1024-points | " in capsys.readouterr().out
    assert not list((tmp_path / "out/runs").iterdir())
    monkeypatch.setattr(recipes.subprocess, "Popen", lambda *_, **__: pytest.fail("trained again"))
    assert run(monkeypatch, *options, "--below", 100) == 0


def test_what_a_training_has_learned_is_kept_when_its_time_is_over(tmp_path, monkeypatch, capsys):
    endless = ["train.updates=100000", "train.pairs_per_update=64", "evaluation.every_updates=2"]
    sets = [part for setting in endless for part in ("--set", setting)]
    record = tmp_path / "out/1024-points.jsonl"

    def has_learned(metrics: list[dict], *_: object) -> bool:
        """In place of a clock, so that it is over behind an evaluation, however slow the machine."""
        if recipes._evaluations(metrics):
            monkeypatch.setattr(recipes, "time", SimpleNamespace(monotonic=lambda: float("inf"), sleep=id))
        return False

    monkeypatch.setattr(recipes, "_is_reached", has_learned)
    options = ["--out", tmp_path / "out", "--config", tiny_file(tmp_path), "--only", "1024-points", *sets]
    assert run(monkeypatch, *options, "--below", 1e-9) == 1
    assert "| 1024-points | " in capsys.readouterr().out
    assert recipes._evaluations(recipes._events(record))
    monkeypatch.undo()
    monkeypatch.setattr(recipes, "_train", lambda name, _: print(f"trained {name}"))
    assert run(monkeypatch, *options, "--below", 1e-9) == 1
    told = capsys.readouterr().out
    assert told.startswith("trained 1024-points")
    assert "| ended before |" in told


def test_a_training_that_never_began_is_not_measured(tmp_path, monkeypatch, capsys):
    options = ["--out", tmp_path, "--config", tiny_file(tmp_path), "--only", "1024-points", "--below", 1]
    (tmp_path / "taken").write_text("")
    sets = [f"data.root={tmp_path / 'taken'}", "train.pairs_per_update=64"]
    assert run(monkeypatch, *options, *[part for setting in sets for part in ("--set", setting)]) == 1
    told = capsys.readouterr().out
    assert f"1024-points: ended before it was good enough; see {tmp_path}/1024-points.log" in told
    assert "| 1024-points | not measured" in told
    assert Path(tmp_path, "1024-points.log").read_text()


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


def test_a_record_without_its_start_is_named(tmp_path, monkeypatch, capsys):
    events = a_training(an_evaluation(2, 0.5))[1:]
    (tmp_path / "256-points.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    with pytest.raises(SystemExit):
        run(monkeypatch, "--out", tmp_path, "--below", 1, "--show")
    assert "256-points.jsonl is no run_start; move it away" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--case-seconds", 0, "--case-seconds: got 0, expected more than 0"),
        ("--seconds", "nan", "--seconds: got nan, expected more than 0"),
        ("--seed", -1, "--seed: got -1, expected 0 or more"),
    ],
)
def test_a_training_without_time_or_seed_is_refused(tmp_path, monkeypatch, capsys, option, value, told):
    with pytest.raises(SystemExit):
        run(monkeypatch, "--out", tmp_path / "out", "--below", 1, option, value)
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("below", ["nan", "inf", "0", "-1"])
def test_a_loss_that_no_training_can_be_below_is_refused(tmp_path, monkeypatch, capsys, below):
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, "--out", tmp_path / "out", "--below", below)
    assert ended.value.code == 2
    assert f"--below: got {below}, expected a held-out loss such as 0.001" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_config_that_is_wrong_is_refused_before_a_training(tmp_path, monkeypatch, capsys):
    options = ["--out", tmp_path / "out", "--config", tiny_file(tmp_path), "--below", 1]
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *options, "--set", "recipe.query_points=none")
    assert ended.value.code == 2
    assert "recipe.query_points" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
