"""Two torchrun agents on one host, as two nodes have one each: a static rendezvous, and one rank an agent."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tiny import ROOT

LIMIT_SECONDS = 240


@dataclass(frozen=True)
class Ended:
    code: int
    said: str


def train_on_two_nodes(
    arguments: list[str], of_node: list[list[str]], errors: Path, **environment: str
) -> list[Ended]:
    """Train with the arguments of all and of each node; a node that hangs makes the test fail, not wait."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    agents = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node-rank", str(node)),
                *(
                    "--nproc-per-node",
                    "1",
                    "--rdzv-backend",
                    "static",
                    "--rdzv-endpoint",
                    f"127.0.0.1:{port}",
                ),
                *("--rdzv-id", "two-nodes", "--local-addr", "127.0.0.1", "--log-dir", str(errors)),
                *("-m", "trainer", "train", *arguments, *own),
            ],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for node, own in enumerate(of_node)
    ]
    try:
        return [Ended(agent.wait(LIMIT_SECONDS), agent.stdout.read()) for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()
