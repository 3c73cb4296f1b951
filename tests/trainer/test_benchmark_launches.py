"""What the scripts in benchmarks/ launch ends with all of its processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import is_there
from tiny import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import ending

RANK = r"""
import os, pathlib, signal, sys, time
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path("/proc/self/comm").write_bytes(b"\xff) Z 1")
pathlib.Path(sys.argv[1], os.environ.get("RANK", "0")).write_text(str(os.getpid()))
time.sleep(300)
"""


@pytest.mark.parametrize(("ranks", "manners"), [(1, "obeys"), (1, "deaf"), (2, "obeys"), (2, "deaf")])
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


def test_a_process_of_any_name_that_nobody_waited_for_is_gone():
    named = "import pathlib; pathlib.Path('/proc/self/comm').write_bytes(b'\\xff) S 1'); open(0).read()"
    process = subprocess.Popen([sys.executable, "-c", named], stdin=subprocess.PIPE)
    assert is_there(process.pid)
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_there(process.pid)
    process.wait()


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
def test_a_process_that_is_reaped_while_it_is_looked_at_is_gone(monkeypatch, error):
    def gone(_path):
        raise error

    assert is_there(os.getpid())
    monkeypatch.setattr(Path, "read_bytes", gone)
    assert not is_there(os.getpid())
