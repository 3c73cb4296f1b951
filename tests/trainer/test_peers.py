"""What a rank that fails leaves behind, whenever the others hear of it."""

import json
import os
import subprocess
import sys

from tiny import ROOT

FAILING = """
import os, time
import torch.distributed as dist
from trainer.run import peers
from trainer.run.failure import Failure

class Slow(dist.PrefixStore):
    def compare_set(self, *arguments):
        answer = super().compare_set(*arguments)
        time.sleep(4 * peers.POLL_SECONDS)  # as on a busy host
        return answer

store = dist.TCPStore("localhost", 0, is_master=True)
os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(store.port), TORCHELASTIC_USE_AGENT_STORE="True")
connect = peers._connect
peers._connect = lambda: Slow("slow", connect())
peers.FAREWELL_SECONDS = 0
peers.Peers(rank=1, size=2).end_all(Failure("the root of it", "error", step=3, rank=1, call_stack=""))
"""


def test_the_rank_that_failed_keeps_its_own_message_where_the_store_answers_late(tmp_path):
    error_file = tmp_path / "error.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TORCHELASTIC_ERROR_FILE": str(error_file)}
    done = subprocess.run(
        [sys.executable, "-c", FAILING], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert json.loads(error_file.read_text())["message"]["message"] == "the root of it", done.stderr
