"""Prints, as one JSON line, what a node is and holds, to be compared with the other nodes of a launch.

    python node_facts.py --processes N [--data PATH ...]

Run it with the interpreter of the training, in its working directory: `versions` are those of that
interpreter's packages. `data` is one SHA-256 over the files under the paths, which may lie on a disk of each
node's own.
"""

import argparse
import hashlib
import json
import os
import platform
import socket
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import nvidia_smi
from nvidia_smi import Gpu, NoAnswer

PACKAGES = ("torch", "numpy", "triton", "nvidia-nccl-cu12", "nvidia-nccl-cu13")
CHUNK_BYTES = 1 << 20


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--data", nargs="*", default=[])
    given = parser.parse_args(arguments)
    report = {
        "node": nvidia_smi.node_name(),
        "host": host_facts(),
        **gpu_facts(given.processes),
        "versions": versions(),
        "data": data_hash(given.data) if given.data else None,
        "freePort": free_port(),
    }
    print(json.dumps(report))
    return 0


def host_facts() -> dict[str, object]:
    return {
        "name": nvidia_smi.host_name(),
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 0,
        "memoryBytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
    }


def cpu_model() -> str:
    lines = nvidia_smi.read_bytes("/proc/cpuinfo").decode(errors="replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown")


def gpu_facts(processes: int) -> dict[str, object]:
    try:
        gpus: list[Gpu] = nvidia_smi.used_gpus(processes)
    except NoAnswer as why:
        nothing = {"status": "not-measured", "reason": str(why)}
        return {"gpus": nothing, "processes": nothing}
    try:
        found = nvidia_smi.processes_on([str(gpu["uuid"]) for gpu in gpus])
        seen: dict[str, object] = {"status": "measured", "value": found}
    except NoAnswer as why:
        seen = {"status": "not-measured", "reason": str(why)}
    return {"gpus": {"status": "measured", "value": gpus}, "processes": seen}


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def data_hash(paths: list[str]) -> str:
    """As data-hash.ts makes it; a file that cannot be read here differs from every other node's."""
    contents = {file: content_hash(Path(file)) for path in paths for file in files_in(path, ())}
    together = hashlib.sha256()
    for file in sorted(contents):
        together.update(f"{file}\0{contents[file]}\n".encode())
    return together.hexdigest()


def files_in(path: str, above: tuple[str, ...]) -> Iterator[str]:
    """As paths that begin with the given one. Links are followed, but never into a folder around them."""
    place = Path(path)
    if not place.is_dir():
        yield path
        return
    real = str(place.resolve())
    if real not in above:
        for name in os.listdir(place):  # noqa: PTH208
            yield from files_in(os.path.normpath(f"{path}/{name}"), (*above, real))


def content_hash(place: Path) -> str:
    content = hashlib.sha256()
    try:
        with place.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                content.update(chunk)
    except OSError as error:
        return f"unreadable on {nvidia_smi.node_name()}: {error.strerror}"
    return content.hexdigest()


def free_port() -> int:
    """For ranks of several nodes to meet at, on the first of them."""
    with socket.socket() as opened:
        opened.bind(("", 0))
        return int(opened.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
