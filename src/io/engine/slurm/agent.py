"""What Speedproof runs on the nodes of a Slurm allocation, started directly by srun or sbatch.

    python -I -S agent.py hold LEASE SECONDS
    python -I -S agent.py launch OPTIONS -- COMMAND [ARGUMENT ...]
    python -I -S agent.py answer SECONDS COMMAND [ARGUMENT ...]
    python -I -S agent.py see FOLDER NONCE PATH ...
    python -I -S agent.py left MARKER

`hold` is the batch job: the allocation lasts as long as it does. `launch` is one node's part of a launch:
it starts the command under reaper.py, with watch_node.py beside it, and writes to FOLDER/NODE what becomes
of it: `starting`, `port N` on the first node, `stopping REASON`, `ended` when the command is over, `exit N`
or `signal N`, then `clean` when the kernel says that no process is left, or `failed REASON`; between them
`alive`. `answer` runs a short command, `see` tells whether the node shares the folder, and `left` ends and
counts what a dead agent may have left.

The lease is a file that Speedproof renews: a number that grows, and the marker of the launch that may run,
`-` for none, or `over` for the end of the allocation. Its age is taken by this node's clock from when it
last changed, so that clocks need not agree. A node may have no Node.js, so all of this is Python.
"""

import argparse
import contextlib
import importlib.util
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REAPER = HERE.parent.parent / "process" / "reaper.py"
WATCHER = HERE.parent.parent / "machine" / "watch_node.py"
MARKER_VARIABLE = "SPEEDPROOF_RUN_MARKER"
NODE_VARIABLE = "SPEEDPROOF_NODE"
# Slurm says by these which devices of the node are ours.
DEVICE_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")
POLL_SECONDS = 0.2
# Every node of every launch asks the file system this often.
LEASE_POLL_SECONDS = 0.5
ALIVE_SECONDS = 5.0
HOLD_POLL_SECONDS = 1.0
# The agents of a launch end first: the end of the allocation would kill them amid their work.
HOLD_MARGIN_SECONDS = 15.0
# reaper.py surrenders after 30
REAPER_SECONDS = 35.0
# It asks nvidia-smi, which takes its time on a node with eight GPUs.
WATCHER_SECONDS = {"in time": 40.0, "in haste": 3.0}
ANSWER_LINE = "speedproof-answer"
OVER = "over"
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def load_reaper():
    # -I keeps the script's own folder out of the path of imports.
    spec = importlib.util.spec_from_file_location("reaper", REAPER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reaper = load_reaper()


class Lease:
    def __init__(self, path: str, seconds: float) -> None:
        self.path, self.seconds = Path(path), seconds
        self.text, self.changed_at = b"", time.monotonic()
        self.read_at = 0.0

    def read(self) -> str | None:
        """Who may run now; None for a lease that nobody has renewed in time."""
        now = time.monotonic()
        if now - self.read_at > LEASE_POLL_SECONDS:
            self.read_at = now
            # Opened each time: that is when a network file system looks for what others have written.
            with contextlib.suppress(OSError):
                text = self.path.read_bytes()
                if text != self.text:
                    self.text, self.changed_at = text, now
        if now - self.changed_at > self.seconds:
            return None
        words = self.text.decode(errors="replace").split()
        # Half written, it tells nothing yet.
        return words[1] if len(words) == 2 else ""


class Report:
    """This node's file in the folder of the launch."""

    def __init__(self, folder: str, node: str) -> None:
        self.file = os.open(Path(folder) / node, NEW_FILE, 0o644)
        self.said_at = 0.0

    def say(self, line: str) -> None:
        # A full disk must not keep the agent from its work: what is missing reads "not seen empty".
        with contextlib.suppress(OSError):
            os.write(self.file, f"{line}\n".encode())
            os.fsync(self.file)
        self.said_at = time.monotonic()

    def stay_alive(self) -> None:
        if time.monotonic() - self.said_at > ALIVE_SECONDS:
            self.say("alive")


def hold(path: str, seconds: str) -> int:
    lease = Lease(path, float(seconds) + HOLD_MARGIN_SECONDS)
    while lease.read() not in (None, OVER):
        time.sleep(HOLD_POLL_SECONDS)
    return 0


def launch(arguments: list[str]) -> int:
    options = launch_options(arguments)
    signal.pthread_sigmask(signal.SIG_BLOCK, reaper.WATCHED_SIGNALS)
    report = Report(options.folder, options.node)
    # One stream keeps what the ranks print in order, and leaves the other one to srun itself.
    os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
    lease = Lease(options.lease, options.lease_seconds)
    lease.read()
    try:
        reaper.follow_parent_and_adopt_orphans()
        report.say("starting")
        command = filled_in(options, lease, report)
        if command is None:
            report.say("ended")
            report.say("clean")
            return 1
        return Launched(options, command).supervise(lease, report)
    except OSError as error:
        report.say(f"failed {error.strerror}")
        if reaper.end_descendants(0):
            report.say("clean")
        return reaper.COULD_NOT_START


def launch_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--lease", required=True)
    parser.add_argument("--lease-seconds", type=float, required=True)
    parser.add_argument("--marker", required=True)
    parser.add_argument("--nodes", required=True, help="names in the order of their ranks")
    parser.add_argument("--address", required=True, help="where the first node is reached")
    parser.add_argument("--machine", required=True, help="file for what is seen of the first node's GPUs")
    parser.add_argument("--processes", required=True, help="ranks of a node, one per GPU")
    parser.add_argument("--keep", default="", help="environment variables that the ranks may see")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    nodes = options.nodes.split(",")
    options.node, options.first = os.environ["SLURMD_NODENAME"], nodes[0]
    # As SLURM_NODEID, unless Slurm has put the nodes of the step into another order.
    options.rank = nodes.index(options.node)
    return options


def filled_in(options: argparse.Namespace, lease: Lease, report: Report) -> list[str] | None:
    """The command with this node's rank and the port on which all meet; None if told to stop first."""
    if "{rdzv_endpoint}" not in options.command:
        return options.command
    if options.rank == 0:
        port = free_port()
        report.say(f"port {port}")
    else:
        port = told_port(options, lease, report)
        if port is None:
            return None
    values = {"{node_rank}": str(options.rank), "{rdzv_endpoint}": f"{options.address}:{port}"}
    return [values.get(word, word) for word in options.command]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def told_port(options: argparse.Namespace, lease: Lease, report: Report) -> str | None:
    while (reason := reason_to_stop(options.marker, lease, POLL_SECONDS)) is None:
        with contextlib.suppress(OSError):
            for line in (Path(options.folder) / options.first).read_text().splitlines():
                if line.startswith("port "):
                    return line.split()[1]
        report.stay_alive()
    report.say(f"stopping {reason}")
    return None


def reason_to_stop(marker: str, lease: Lease, wait_seconds: float) -> str | None:
    got = signal.sigtimedwait(reaper.WATCHED_SIGNALS, wait_seconds)
    if got is not None and got.si_signo != signal.SIGCHLD:
        return signal.Signals(got.si_signo).name
    allowed = lease.read()
    if allowed is None:
        return "lease"
    return None if allowed in ("", marker) else "order"


class Launched:
    """The reaper of the ranks and the watcher of the machine, both children of this process."""

    def __init__(self, options: argparse.Namespace, command: list[str]) -> None:
        self.marker = options.marker
        environment = {name: os.environ[name] for name in kept(options.keep) if name in os.environ}
        environment[MARKER_VARIABLE] = marker_here(options.marker)
        self.watcher, self.watcher_input = start_watcher(options, environment)
        self.control, control = os.pipe()
        os.set_blocking(self.control, False)
        self.reaper = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", str(REAPER), str(os.getpid()), *command],
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, control, reaper.CONTROL_DESCRIPTOR)],
            setsigmask=(),
        )
        os.close(control)
        self.said = b""

    def supervise(self, lease: Lease, report: Report) -> int:
        status, reason, told = self.wait(lease, report)
        if "ended" not in told:
            report.say("ended")
        for line in told:
            if line.startswith("failed "):
                report.say(line)
        end_watcher(self.watcher, self.watcher_input, "in time" if reason is None else "in haste")
        # A reaper that was killed leaves its orphans to this process, which asks the kernel as it does.
        is_clean = reaper.end_descendants(0)
        exit_code = 1 if status is None else os.waitstatus_to_exitcode(status)
        report.say(f"exit {exit_code}" if exit_code >= 0 else f"signal {-exit_code}")
        if is_clean:
            report.say("clean")
        return exit_code if exit_code >= 0 else 128 - exit_code

    def wait(self, lease: Lease, report: Report) -> tuple[int | None, str | None, list[str]]:
        """Until the reaper has ended: its status, why it was told to stop, and what it said."""
        reason, deadline, has_said_ended = None, None, False
        while True:
            asked = reason_to_stop(self.marker, lease, POLL_SECONDS)
            ended, _ = reaper.reap()
            told = self.listen()
            if "ended" in told and not has_said_ended:
                has_said_ended = True
                report.say("ended")
            if self.reaper in ended:
                return ended[self.reaper], reason, told
            if asked is not None and reason is None:
                reason, deadline = asked, time.monotonic() + REAPER_SECONDS
                report.say(f"stopping {reason}")
                reaper.send(self.reaper, signal.SIGTERM)
            if deadline is not None and time.monotonic() > deadline:
                reaper.send(self.reaper, signal.SIGKILL)
                deadline = None
            report.stay_alive()

    def listen(self) -> list[str]:
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self.control, 4096):
                self.said += chunk
        return self.said.decode(errors="replace").splitlines()


def kept(names: str) -> set[str]:
    return {*DEVICE_VARIABLES, *filter(None, names.split(","))}


def start_watcher(options: argparse.Namespace, environment: dict[str, str]) -> tuple[int, int]:
    """Its standard input is open as long as the launch; its trouble is not the launch's."""
    is_first = options.node == options.first
    first = Path(options.machine)
    out = first if is_first else first.with_name(f"{first.stem}-{options.node}{first.suffix}")
    reading, writing = os.pipe()
    log = os.open(Path(options.folder) / f"{options.node}.watch", NEW_FILE, 0o644)
    actions = [
        (os.POSIX_SPAWN_DUP2, reading, 0),
        (os.POSIX_SPAWN_DUP2, log, 1),
        (os.POSIX_SPAWN_DUP2, log, 2),
    ]
    command = [sys.executable, "-I", "-S", str(WATCHER), "--out", str(out)]
    command += ["--marker", marker_here(options.marker), "--processes", options.processes]
    # Without the marker, so that the watcher is not taken for a process of the launch.
    seen = {name: value for name, value in environment.items() if name != MARKER_VARIABLE}
    seen[NODE_VARIABLE] = options.node
    pid = os.posix_spawn(sys.executable, command, seen, file_actions=actions, setsigmask=())
    os.close(reading)
    os.close(log)
    return pid, writing


def end_watcher(pid: int, standard_input: int, how: str) -> None:
    os.close(standard_input)
    if how == "in haste":
        reaper.send(pid, signal.SIGTERM)
    deadline = time.monotonic() + WATCHER_SECONDS[how]
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        reaper.reap()
        time.sleep(reaper.POLL_SECONDS)
    if reaper.living_parent(Path(f"/proc/{pid}")) == os.getpid():
        reaper.send(pid, signal.SIGKILL)
    while Path(f"/proc/{pid}").exists() and reaper.living_parent(Path(f"/proc/{pid}")) == os.getpid():
        reaper.reap()
        time.sleep(reaper.POLL_SECONDS)
    reaper.reap()


def answer(seconds: str, command: list[str]) -> int:
    """Passes on what the command prints, and its exit code in a last line: srun's own may tell of srun."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    environment[NODE_VARIABLE] = os.environ.get("SLURMD_NODENAME", "")
    ended = None
    with contextlib.suppress(subprocess.TimeoutExpired, OSError):
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, timeout=float(seconds), check=False, env=environment
        )
    code = reaper.COULD_NOT_START if ended is None else ended.returncode
    return told("", code if code >= 0 else 128 - code)


def told(text: str, code: int = 0) -> int:
    print(f"{text}\n{ANSWER_LINE} {code}", flush=True)
    return 0


def see(folder: str, nonce: str, paths: list[str]) -> int:
    """Prints `missing PATH` for each that this node lacks; leaves the nonce for Speedproof to find."""
    missing = [path for path in paths if not os.path.exists(path)]  # noqa: PTH110, as given
    ours = Path(folder) / "ours"
    if not ours.is_file() or ours.read_text() != nonce:
        missing.append(folder)
    else:
        (Path(folder) / os.environ.get("SLURMD_NODENAME", "node")).write_text(nonce)
    return told("\n".join(f"missing {path}" for path in missing))


def left(marker: str) -> int:
    """Ends what carries the marker and prints how many processes there were, then how many are left."""
    found = marked(marker)
    for pid in found:
        reaper.send(pid, signal.SIGTERM)
    deadline = time.monotonic() + reaper.GRACE_SECONDS
    while marked(marker) and time.monotonic() < deadline:
        select.select([], [], [], reaper.POLL_SECONDS)
    deadline = time.monotonic() + reaper.GRACE_SECONDS
    while (still := marked(marker)) and time.monotonic() < deadline:
        for pid in still:
            reaper.send(pid, signal.SIGKILL)
        select.select([], [], [], reaper.POLL_SECONDS)
    return told(f"found {len(found)} left {len(marked(marker))}")


def marker_here(marker: str) -> str:
    """With the node's name: two nodes of a test share one host, and each has its own processes."""
    return f"{marker}-{os.environ.get('SLURMD_NODENAME', '')}"


def marked(marker: str) -> list[int]:
    wanted = f"{MARKER_VARIABLE}={marker_here(marker)}".encode()
    found = []
    for pid, _ in reaper.living_with_parents():
        with contextlib.suppress(OSError):
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if wanted in variables and pid != os.getpid():
                found.append(pid)
    return found


def main(arguments: list[str]) -> int:
    word, rest = arguments[0], arguments[1:]
    if word == "hold":
        return hold(*rest)
    if word == "launch":
        return launch(rest)
    if word == "answer":
        return answer(rest[0], rest[1:])
    if word == "see":
        return see(rest[0], rest[1], rest[2:])
    return left(*rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
