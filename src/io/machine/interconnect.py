"""Times an all-reduce within each node and between each two neighbours, and prints how NCCL moved the data.

    python interconnect.py --nodes NAME [NAME ...] --ranks R --backend nccl|gloo [--address HOST --port PORT]

Started once on every node, it starts R ranks there; a node finds its place by its name. The first node prints
one JSON line: gigabytes per second as nccl-tests counts them, which is what each link carried, so that groups
of any size compare, and the lines of NCCL's log.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import nvidia_smi

BYTES = {"nccl": 256 << 20, "gloo": 4 << 20}
WARM_UPS = 3
REPEATS = 10
RENDEZVOUS = timedelta(seconds=120)
# Channels name the transport, the graph tells NVLink from PCIe, a communicator says on how many nodes it is.
LOG_WORDS = (" via ", "nChannels", "nNodes")
MOST_LINES = 2000
POLL_SECONDS = 0.1


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", nargs="+", required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--backend", choices=sorted(BYTES), required=True)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--port", type=int)
    given = parser.parse_args(arguments)
    if "RANK" in os.environ and "SPEEDPROOF_PROBE_RANK" in os.environ:
        return work(given.nodes, given.ranks, given.backend)
    name = nvidia_smi.node_name()
    if len(given.nodes) > 1 and name not in given.nodes:
        print(f"this is {name}, expected one of {', '.join(given.nodes)}")
        return 2
    place = given.nodes.index(name) if len(given.nodes) > 1 else 0
    port = given.port or free_port()
    with tempfile.TemporaryDirectory(prefix="speedproof-nccl-") as folder:
        ranks = [
            subprocess.Popen(
                [sys.executable, *sys.argv],
                env=environment(given, place * given.ranks + local, local, port, folder),
                stdin=subprocess.DEVNULL,
            )
            for local in range(given.ranks)
        ]
        return wait_for(ranks)


def environment(given: argparse.Namespace, rank: int, local: int, port: int, folder: str) -> dict[str, str]:
    own = {
        "SPEEDPROOF_PROBE_RANK": "1",
        "RANK": str(rank),
        "LOCAL_RANK": str(local),
        "WORLD_SIZE": str(len(given.nodes) * given.ranks),
        "MASTER_ADDR": given.address,
        "MASTER_PORT": str(port),
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,GRAPH",
        "NCCL_DEBUG_FILE": f"{folder}/%h.%p",
    }
    # Else gloo looks up the host's own name, which may not resolve.
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if given.address.startswith("127.") else {}
    return {**loopback, **os.environ, **own}


def wait_for(ranks: list[subprocess.Popen[bytes]]) -> int:
    """The first exit code that is not 0; the other ranks, which would wait for that one, are ended then."""
    while True:
        codes = [rank.poll() for rank in ranks]
        bad = next((code for code in codes if code), None)
        if bad is not None:
            for rank in ranks:
                rank.kill()
                rank.wait()
            return bad if bad > 0 else 128 - bad
        if None not in codes:
            return 0
        time.sleep(POLL_SECONDS)


def work(names: list[str], ranks: int, backend: str) -> int:
    import torch
    import torch.distributed as dist

    rank, local, nodes = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), len(names)
    if backend == "nccl" and torch.cuda.device_count() <= local:
        print(f"torch sees {torch.cuda.device_count()} GPUs, expected {ranks}", flush=True)
        return 1
    device = torch.device("cuda", local) if backend == "nccl" else torch.device("cpu")
    if backend == "nccl":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, timeout=RENDEZVOUS)
    data = torch.zeros(BYTES[backend] // 4, device=device)
    synchronize: Callable[[], object] = torch.cuda.synchronize if backend == "nccl" else (lambda: None)

    def gigabytes_per_second(members: list[int]) -> float | None:
        """None for a rank that is no member. All ranks call it with the same members, in the same order."""
        group = dist.new_group(members)
        seconds = []
        if rank in members:
            for turn in range(WARM_UPS + REPEATS):
                synchronize()
                started = time.perf_counter()
                dist.all_reduce(data, group=group)
                synchronize()
                if turn >= WARM_UPS:
                    seconds.append(time.perf_counter() - started)
        if not seconds:
            return None
        carried = 2 * (len(members) - 1) / len(members) * BYTES[backend]
        return carried / sorted(seconds)[len(seconds) // 2] / 1e9

    node = rank // ranks
    of_node = [list(range(first * ranks, (first + 1) * ranks)) for first in range(nodes)]
    within = [gigabytes_per_second(members) for members in of_node] if ranks > 1 else []
    pairs = [(first, (first + 1) % nodes) for first in range(nodes if nodes > 2 else nodes - 1)]
    between = []
    for one, other in pairs:
        dist.barrier()  # one pair at a time: two would share a link
        between.append(gigabytes_per_second([*of_node[one], *of_node[other]]))
    seen: list[dict[str, Any]] = [{} for _ in range(nodes * ranks)]
    own = {"within": within[node] if within else None, "between": between}
    dist.all_gather_object(seen, {**own, "log": own_log()})
    if rank == 0:
        report(seen, names, ranks, backend, pairs)
    dist.destroy_process_group()
    return 0


def report(
    seen: list[dict[str, Any]], names: list[str], ranks: int, backend: str, pairs: list[tuple[int, int]]
) -> None:
    first_of = [seen[node * ranks] for node in range(len(names))]
    lines = dict.fromkeys(line for one in seen for line in one["log"])
    print(
        json.dumps(
            {
                "backend": backend,
                "bytes": BYTES[backend],
                "within": [
                    {"node": name, "gigabytesPerSecond": one["within"]}
                    for name, one in zip(names, first_of, strict=True)
                    if one["within"] is not None
                ],
                "between": [
                    {
                        "nodes": [names[one], names[other]],
                        "gigabytesPerSecond": first_of[one]["between"][index],
                    }
                    for index, (one, other) in enumerate(pairs)
                ],
                "log": list(lines)[:MOST_LINES],
            }
        ),
        flush=True,
    )


def own_log() -> list[str]:
    """What this process's NCCL has said so far, without what stands before each message."""
    folder = Path(os.environ["NCCL_DEBUG_FILE"]).parent
    texts = [file.read_text(errors="replace") for file in folder.glob(f"*.{os.getpid()}")]
    lines = [line.partition("NCCL INFO ")[2] for text in texts for line in text.splitlines()]
    return [line for line in lines if any(word in line for word in LOG_WORDS)][:MOST_LINES]


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
