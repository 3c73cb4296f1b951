"""Runs Python programs in forks of a process that has imported torch: the import takes seconds each time.

For programs that need no process of their own from the start. Ranks find each other as under torchrun, which
test_launches.py starts for what torchrun itself does.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 900  # far more than any needs, also on a busy machine

# No part of the trainer, of which some tests have a copy, and no torch._dynamo, which reads the environment.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch.distributed.fsdp", "h5py", "yaml", "jaxtyping"])


def python(
    arguments: Sequence[object], ranks: int = 1, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess:
    """Run what `python ARGUMENTS` would: -m MODULE, -c PROGRAM or a script, with its arguments.

    With several ranks the outputs stand one after another, and the exit code is the largest.
    """
    command = [str(argument) for argument in arguments]
    return _in_processes(ranks, environment, _run, (command, str(cwd)))


def in_ranks(function: Callable[..., None], ranks: int, *arguments: object) -> None:
    """Call a function of a test module with the arguments in as many processes, which must not fail."""
    done = _in_processes(ranks, {}, function, arguments)
    assert done.returncode == 0, done.stderr[-4000:]


def _in_processes(
    ranks: int, environment: dict[str, str], function: Callable[..., None], arguments: tuple
) -> subprocess.CompletedProcess:
    meeting, _store = _as_torchrun_has_it(ranks)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **meeting, **environment}
    with tempfile.TemporaryDirectory() as folder:
        files = [[f"{folder}/{stream}-{rank}" for stream in ("out", "err")] for rank in range(ranks)]
        given = [(rank, ranks, environment, files[rank], function, arguments) for rank in range(ranks)]
        codes = _exit_codes([SERVER.Process(target=_child, args=each) for each in given])
        out, err = ("".join(Path(file).read_text() for file in stream) for stream in zip(*files, strict=True))
    return subprocess.CompletedProcess(function.__name__, max(codes), out, err)


def _exit_codes(processes: list) -> list[int]:
    """An end by a signal is 128 and more, as in a shell."""
    for process in processes:
        process.start()
    deadline = time.monotonic() + LIMIT_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    late = [process for process in processes if process.is_alive()]
    for process in late:
        process.kill()
        process.join()
    assert not late, f"{len(late)} of {len(processes)} processes did not end in {LIMIT_SECONDS} s"
    return [code if code >= 0 else 128 - code for code in (process.exitcode for process in processes)]


def _as_torchrun_has_it(ranks: int) -> tuple[dict[str, str], object]:
    """The environment of ranks, and the store in which they meet, as long as it is kept."""
    if ranks == 1:
        return {}, None
    from torch.distributed import TCPStore

    store = TCPStore("localhost", 0, is_master=True)
    where = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(store.port)}
    sizes = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    return {**where, **sizes, "TORCHELASTIC_USE_AGENT_STORE": "True"}, store


def _child(
    rank: int,
    ranks: int,
    environment: dict[str, str],
    files: list[str],
    function: Callable[..., None],
    arguments: tuple,
) -> None:
    for stream, path in enumerate(files, start=1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, stream)
        os.close(file)
    os.environ.clear()  # which is the server's, of the test that came first
    os.environ.update(environment)
    if ranks > 1:
        error_file = Path(environment.get("TMPDIR", Path(files[0]).parent), str(rank), "error.json")
        error_file.parent.mkdir()
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), TORCHELASTIC_ERROR_FILE=str(error_file))

    import torch

    torch.set_num_threads(1)
    function(*arguments)


def _run(command: list[str], cwd: str) -> None:
    os.chdir(cwd)
    kind, *rest = command
    if kind == "-m":
        sys.argv, sys.path[0:0] = rest, [cwd]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv, sys.path[0:0] = ["-c", *rest[1:]], [cwd]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0:0] = command, [str(Path(kind).parent), cwd]
        runpy.run_path(kind, run_name="__main__")
