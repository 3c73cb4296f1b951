"""What the scripts in benchmarks/ launch ends with all of its processes."""

import os
import subprocess
import sys
import time

import pytest
from tiny import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from ending import end

RANK = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1], os.environ.get("RANK", "0")).write_text(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_every_rank_is_gone_when_a_launch_was_ended(tmp_path, ranks):
    program, notes = tmp_path / "rank.py", tmp_path / "notes"
    program.write_text(RANK)
    notes.mkdir()
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    launcher = torchrun if ranks > 1 else []
    launch = subprocess.Popen(
        [sys.executable, *launcher, str(program), str(notes)], stderr=subprocess.DEVNULL
    )
    while len(pids := [note.read_text() for note in notes.iterdir()]) < ranks or "" in pids:
        assert launch.poll() is None
        time.sleep(0.05)
    end(launch)
    assert [pid for pid in pids if is_there(int(pid))] == []


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
