"""What the command line says about itself."""

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from facts import states
from forked import python
from tiny import ROOT, tiny_file

from trainer.cli import _parser, main
from trainer.process.terminal import say, show_progress

START = "\r\x1b[K"  # of a line, and nothing left on it
BAR = f"{START}step [###...........................] 1 of 10"

(COMMANDS,) = [a.choices for a in _parser()._actions if isinstance(a, argparse._SubParsersAction)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_all_its_options(name, capsys):
    assert all(action.help for action in COMMANDS[name]._actions)
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert COMMANDS[name].description.split()[0] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["profile", "--steps", "0"], '--steps: got "0", expected a whole number at least 1'),
        (["tune-batch", "--memory-fraction", "90"], 'got "90", expected a number more than 0 and at most 1'),
        (["tune-batch", "--memory-fraction", "nan"], 'got "nan", expected a number more than 0'),
        (["check-sampling", "--ranks", "-1"], 'got "-1", expected a whole number at least 1'),
        (["train", "--seed", str(2**53)], f'got "{2**53}", expected a whole number from 0 to {2**53 - 1}'),
    ],
)
def test_a_bad_option_is_named(arguments, expected, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert expected in capsys.readouterr().err


def test_what_cannot_be_used_is_bad_input(tmp_path, capsys):
    config, file = str(tiny_file(tmp_path)), tmp_path / "file"
    file.write_text("no checkpoint")
    for arguments, expected in (
        (
            ["train", "--config", config, "--seed", "0", "--out", str(file)],
            "cannot be written (File exists)",
        ),
        (["profile", "--config", config, "--out", str(file / "x")], "cannot be written (Not a directory)"),
        (["evaluate", "--checkpoint", str(file)], f"{file}: cannot be read as a checkpoint"),
        (
            ["evaluate", "--checkpoint", str(file), "--data-root", str(tmp_path / "typo")],
            "typo is not a folder; name the folder of the data",
        ),
        (["evaluate", "--checkpoint", str(file), "--out", "x"], "--out: works with --run only"),
        (["evaluate", "--run", str(tmp_path), "--out", str(file / "x")], "--out: "),
        (["evaluate", "--run", str(tmp_path), "--out", str(tmp_path / "x")], "checkpoint.pt: does not exist"),
    ):
        assert main(arguments) == 2
        assert expected in capsys.readouterr().err


def test_an_evaluation_of_runs_by_several_processes_is_refused(tmp_path, monkeypatch, capsys):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert main(["evaluate", "--run", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert "--run: evaluate was started as 2 processes" in capsys.readouterr().err


def test_a_profile_replaces_no_trace_of_a_training(tmp_path, capsys):
    (tmp_path / "metrics.jsonl").touch()
    (tmp_path / "trace-0.json").write_text("of a training")
    assert main(["profile", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path)]) == 2
    assert states(capsys.readouterr().err, f"--out: {tmp_path} .. traces. Name another folder")
    assert (tmp_path / "trace-0.json").read_text() == "of a training"


@pytest.mark.slow
def test_a_profile_whose_steps_diverge_ends_in_words(tmp_path):
    command = ["-m", "trainer", "profile", "--config", tiny_file(tmp_path), "--steps", "2"]
    sets = ["train.detect_anomaly=true", "optimizer.learning_rate=1e20", "optimizer.warmup_updates=0"]
    command += [part for each in sets for part in ("--set", each)] + ["--out", tmp_path / "out"]
    done = python(command)
    assert done.returncode == 1
    assert "; lower optimizer.learning_rate" in done.stderr.splitlines()[-1]
    assert "Traceback (most recent call last)" not in done.stderr


@pytest.mark.slow
def test_a_reader_that_has_enough_ends_a_command_quietly(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "trainer", "validate-config", "--config", str(tiny_file(tmp_path))]
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.slow
def test_an_answer_that_a_full_disk_refuses_is_a_failure_in_words(tmp_path):
    command = [sys.executable, "-m", "trainer", "validate-config", "--config", str(tiny_file(tmp_path))]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    said = "the output cannot be written to standard output: No space left on device"
    assert (done.returncode, done.stderr) == (1, f"{said}; free space there, then start again\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "gone",
    [
        ("a pipe that nobody reads", "a full disk"),
        ("a full disk", "closed"),
        ("closed", "a pipe that nobody reads"),
    ],
)
def test_a_training_outlives_whoever_watched_it(tmp_path, gone):
    """Neither its answers nor what it says go anywhere."""
    arguments = ["train", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path / "out"), "--seed", "1"]
    places = {"a pipe that nobody reads": "> >(true)", "a full disk": "> /dev/full", "closed": ">&-"}
    redirected = " ".join(f"{number}{places[where]}" for number, where in enumerate(gone, start=1))
    script = f'"$0" -m trainer "$@" {redirected}'
    done = subprocess.run(["bash", "-c", script, sys.executable, *arguments], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "checkpoint.pt").is_file()
    assert '"event": "run_end"' in (tmp_path / "out" / "metrics.jsonl").read_text()


def test_making_data_draws_a_bar_where_somebody_watches(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    tasks = "data.tasks=[advection1d, darcy2d]"
    assert main(["generate-data", "--config", str(tiny_file(tmp_path)), "--set", tasks]) == 0
    bars = f"{START}trajectory [{'#' * 30}] 8 of 8\n"
    assert capsys.readouterr().err.count(bars) == 4


def test_long_work_says_how_far_it_is_once_a_minute_where_nobody_watches(capsys, monkeypatch):
    now = 1e6
    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr("trainer.process.terminal._told", 0)
    for step in range(1, 11):
        show_progress("step", step, 10)
        now += 20
    assert capsys.readouterr().err == "step 1 of 10\nstep 4 of 10\nstep 7 of 10\nstep 10 of 10\n"


def test_long_work_draws_a_bar_where_somebody_watches(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_progress("step", 1, 10)
    show_progress("step", 10, 10)
    assert capsys.readouterr().err == f"{BAR}{START}step [{'#' * 30}] 10 of 10\n"


def test_the_bar_of_a_part_goes_when_it_is_done_and_leaves_its_line_to_the_whole(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_progress("pair", 1, 10, stays=False)
    show_progress("pair", 10, 10, stays=False)
    show_progress("step", 1, 10)
    assert capsys.readouterr().err == f"{BAR.replace('step', 'pair')}{START}{BAR}"


def test_what_is_said_while_a_bar_is_drawn_has_a_line_of_its_own(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show_progress("step", 1, 10)
    say("one")
    say("two")
    assert capsys.readouterr().err == f"{BAR}\none\ntwo\n"
    show_progress("step", 10, 10)
    capsys.readouterr()
    say("three")
    assert capsys.readouterr().err == "three\n"


@pytest.mark.parametrize("command", ["generate-data", "check-sampling", "validate-config"])
@pytest.mark.parametrize(("rank", "says"), [("0", True), ("1", False)])
def test_of_several_ranks_the_first_says_what_all_found(tmp_path, monkeypatch, capsys, command, rank, says):
    for name, value in {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank}.items():
        monkeypatch.setenv(name, value)
    assert main([command, "--config", str(tiny_file(tmp_path))]) == 0
    assert (capsys.readouterr().out != "") == says


@pytest.mark.slow
def test_a_process_whose_command_is_done_leaves_out_what_others_do_at_exit(tmp_path):
    """Threads of torch have aborted such a process now and then, when all of its work was done."""
    start = (
        "import atexit, concurrent.futures, runpy; atexit.register(print, 'at exit'); "
        # As compilers have, idle.
        "pool = concurrent.futures.ThreadPoolExecutor(); pool.submit(int).result(); "
        "runpy.run_module('trainer', run_name='__main__')"
    )
    command = ["validate-config", "--config", str(ROOT / "configs/train/smoke-baseline.yaml"), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", start, *command], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["train"]
