"""What all benchmark scripts have in common: their launches end whole, and they end in words."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import is_there
from tiny import ROOT

from benchmarks.harness import ending
from benchmarks.harness.in_words import refused_in_words
from benchmarks.harness.records import RECORDS, unpacked
from trainer.errors import ConfigError

RANK = r"""
import os, pathlib, signal, sys, time
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path("/proc/self/comm").write_bytes(b"\xff) Z 1")
pathlib.Path(sys.argv[1], os.environ.get("RANK", "0")).write_text(str(os.getpid()))
time.sleep(300)
"""


@pytest.mark.parametrize(("ranks", "manners"), [(1, "obeys"), (2, "deaf")])
def test_every_rank_is_gone_when_a_launch_was_ended(tmp_path, monkeypatch, ranks, manners):
    if manners == "deaf":
        monkeypatch.setattr(ending, "SURRENDER_SECONDS", 0.5)
    program, notes = tmp_path / "rank.py", tmp_path / "notes"
    program.write_text(RANK)
    notes.mkdir()
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    launcher = torchrun if ranks > 1 else []
    command = [sys.executable, *launcher, str(program), str(notes), manners]
    launch = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while len(pids := [note.read_text() for note in notes.iterdir()]) < ranks or "" in pids:
        assert launch.poll() is None
        time.sleep(0.05)
    ending.end(launch)
    deadline = time.monotonic() + 60  # a killed one may take a moment
    while (left := [pid for pid in pids if is_there(int(pid))]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def test_a_file_that_a_full_disk_refuses_is_not_taken_for_the_answer(capsys):
    with pytest.raises(OSError, match="No space left on device"), refused_in_words():
        Path("/dev/full").write_text("record")
    with pytest.raises(BrokenPipeError), refused_in_words():
        raise BrokenPipeError
    assert capsys.readouterr().err == ""


def test_every_script_ends_in_words():
    files = [file for file in (ROOT / "benchmarks").glob("*/*.py") if file.parent.name != "tests"]
    scripts = [file for file in files if "__main__" in file.read_text()]
    assert len(scripts) > 15
    assert [file.name for file in scripts if "refused_in_words()" not in file.read_text()] == []


def test_a_record_that_is_not_unpacked_names_the_command_that_does():
    assert unpacked(RECORDS / "gate") == RECORDS / "gate"
    with pytest.raises(ConfigError, match=r"record does not exist.*npm run records"):
        unpacked(RECORDS / "gate/nowhere")
    assert unpacked(Path("nowhere/of/mine")) == Path("nowhere/of/mine")


def test_bad_input_ends_a_script_without_a_stack():
    command = [sys.executable, "-m", "benchmarks.speed.memory_growth", "--config", "nope", "--out", "out"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.startswith("nope: cannot be read (")) == (2, True)
    assert "Traceback" not in done.stderr
