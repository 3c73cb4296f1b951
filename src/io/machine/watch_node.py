"""Watches the GPUs of one node beside the ranks of a launch, until its standard input ends or SIGTERM comes.

    python -I -S watch_node.py --out FILE --marker MARKER [--processes N] [--lock-folder FOLDER]

FILE gets the lines that sampler.ts writes on one host. What carries the marker, or descends from what does,
is ours. The GPUs, or the CPU where there is none, are locked meanwhile, as lock.py does on one host. The name
of a lock carries the node's where that is not the host's own: two nodes of a test share one host.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import lock
import nvidia_smi
from nvidia_smi import Gpu, NoAnswer, Row

MARKER_VARIABLE = "SPEEDPROOF_RUN_MARKER"
SAMPLE_FIELDS = [
    "uuid",
    "clocks.sm",
    "clocks.mem",
    "power.draw",
    "temperature.gpu",
    "memory.used",
    "clocks_event_reasons.active",
    "utilization.gpu",
]
# One nvidia-smi that loops: loading the driver's library for each sample would disturb the training.
SAMPLE_PERIOD_MILLISECONDS = 500
PROCESS_PERIOD_MILLISECONDS = 1000
MAX_BYTES = 64 * 1024 * 1024
MAX_LINE_BYTES = 64 * 1024
FORGETTING_SECONDS = 5.0  # a driver takes a moment to forget a process that has ended
LOCK_SECONDS = 5.0  # the watcher of the launch before may be ending
PATIENCE_SECONDS = 4.0
ANSWER_SECONDS = 5.0
POLL_SECONDS = 0.5


class Watcher:
    def __init__(self, out: Path, marker: str, gpus: list[Gpu]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self.file = os.open(out, flags, 0o644)
        self.variable = f"{MARKER_VARIABLE}={marker}".encode()
        self.gpus = gpus
        self.uuids = [str(gpu["uuid"]) for gpu in gpus]
        self.started, self.started_at = time.monotonic(), time.time()
        self.written = 0
        self.is_complete = True
        self.is_ours: dict[int, bool] = {}
        self.missing_since: dict[int, float] = {}

    def seconds(self) -> float:
        return round(time.monotonic() - self.started, 3)

    def keep(self, event: dict[str, object]) -> None:
        self.write({**event, "seconds": self.seconds()})

    def write(self, event: dict[str, object]) -> None:
        line = f"{json.dumps(event)}\n".encode()
        # The last line always fits: it says that something is missing.
        if self.written + len(line) > MAX_BYTES and event["event"] != "end":
            self.is_complete = False
            return
        self.written += len(line)
        try:
            os.write(self.file, line)
        except OSError:  # a full disk must not end the training
            self.is_complete = False

    def start(self, locked: dict[str, str]) -> None:
        self.write(
            {
                "event": "start",
                "gpus": self.uuids,
                "fingerprint": nvidia_smi.fingerprint(self.gpus),
                "node": nvidia_smi.node_name(),
                "host": nvidia_smi.host_name(),
                "started_at": round(self.started_at, 3),
                "lock": locked,
            }
        )

    def sample(self, row: Row) -> None:
        uuid = nvidia_smi.text_of(row, "uuid")
        if uuid not in self.uuids:
            return
        percent = nvidia_smi.number_of(row, "utilization.gpu")
        told = {
            "sm_clock_mhz": nvidia_smi.number_of(row, "clocks.sm"),
            "memory_clock_mhz": nvidia_smi.number_of(row, "clocks.mem"),
            "power_watts": nvidia_smi.number_of(row, "power.draw"),
            "temperature_celsius": nvidia_smi.number_of(row, "temperature.gpu"),
            "memory_used_bytes": nvidia_smi.bytes_of(row, "memory.used"),
            "event_reasons": nvidia_smi.number_of(row, "clocks_event_reasons.active"),
            "utilization": None if percent is None else percent / 100,
        }
        known = {key: value for key, value in told.items() if value is not None}
        self.keep({"event": "gpu", "gpu": self.uuids.index(uuid), **known})

    def count(self, line: str) -> None:
        """One reading of an energy counter, as energy.py prints it."""
        found = re.fullmatch(r"(\d+) (\d+(?:\.\d+)?)", line)
        if found:
            self.keep({"event": "energy", "gpu": int(found[1]), "joules": float(found[2])})

    def meet(self, row: Row) -> None:
        """Notes each process once."""
        uuid, pid = nvidia_smi.text_of(row, "gpu_uuid"), nvidia_smi.number_of(row, "pid")
        if uuid not in self.uuids or not isinstance(pid, int) or pid in self.is_ours:
            return
        parents = living_with_parents()
        if pid not in parents and self.may_have_just_ended(pid):
            return
        self.is_ours[pid] = self.is_own(pid, parents)
        event = {"event": "process", "gpu": self.uuids.index(uuid), "pid": pid, "is_ours": self.is_ours[pid]}
        self.keep(event)

    def is_own(self, pid: int, parents: dict[int, int]) -> bool:
        """It or one of those that it descends from carries the marker."""
        seen: set[int] = set()
        while pid in parents and pid not in seen:
            if self.variable in nvidia_smi.read_bytes(f"/proc/{pid}/environ").split(b"\0"):
                return True
            seen.add(pid)
            pid = parents[pid]
        return False

    def may_have_just_ended(self, pid: int) -> bool:
        """A number that stays listed without a process is one of another container."""
        since = self.missing_since.setdefault(pid, self.seconds())
        return self.seconds() - since < FORGETTING_SECONDS

    def end(self, was_sampling: bool) -> None:
        seconds = self.seconds()
        after = None
        if self.gpus:
            with contextlib.suppress(NoAnswer):
                now = [facts for row in facts_now() if (facts := nvidia_smi.facts_of(row)) is not None]
                # In the order of before: the driver lists by the bus.
                by_uuid = {str(facts["uuid"]): facts for facts in now}
                after = nvidia_smi.fingerprint([by_uuid[uuid] for uuid in self.uuids if uuid in by_uuid])
        self.write(
            {
                "event": "end",
                "seconds": seconds,
                "fingerprint": after,
                "processes_left": self.processes_left() if self.gpus else None,
                "is_complete": self.is_complete and was_sampling,
            }
        )
        os.close(self.file)

    def processes_left(self) -> list[int] | None:
        """None where our own processes were never seen, or cannot be asked for."""
        own = {pid for pid, is_ours in self.is_ours.items() if is_ours}
        deadline = time.monotonic() + FORGETTING_SECONDS
        while own:
            try:
                now = nvidia_smi.processes_on(self.uuids, ANSWER_SECONDS)
            except NoAnswer:
                return None
            left = sorted({pid for one in now if isinstance(pid := one["pid"], int) and pid in own})
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(POLL_SECONDS)
        return None


def facts_now() -> list[Row]:
    return nvidia_smi.query("gpu", nvidia_smi.FACT_FIELDS, ANSWER_SECONDS)[1]


def living_with_parents() -> dict[int, int]:
    """The parent of each process that still runs."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit():
            continue
        # The name, in parentheses, may itself hold blanks and parentheses.
        fields = nvidia_smi.read_bytes(f"/proc/{name}/stat").rpartition(b")")[2].split()
        # A process whose first thread has ended looks like a zombie while its other threads run on.
        if len(fields) > 17 and not (fields[0] in b"ZX" and int(fields[17]) <= 1):
            found[int(name)] = int(fields[1])
    return found


def take_locks(names: list[str], folder: Path) -> dict[str, str]:
    """Takes them for as long as this process lives; `missed` where somebody else has one."""
    deadline = time.monotonic() + LOCK_SECONDS
    owner = f"process {os.getpid()} on {nvidia_smi.host_name()}, in a launch of a cluster"
    for name in sorted(names):
        path = folder / f"speedproof-{name}.lock"
        try:
            file = lock.open_lock(path)
            while not locked(file):
                if time.monotonic() > deadline:
                    holder = os.pread(file, lock.MAX_OWNER_BYTES, 0).decode(errors="replace")
                    return {"status": "missed", "reason": f"{path.name} is held by {holder or 'somebody'}"}
                time.sleep(lock.POLL_SECONDS)
            lock.note_owner(file, owner)
        except OSError as error:
            return {"status": "missed", "reason": f"{path} cannot be locked: {error.strerror}"}
    return {"status": "held"}


def locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_names(uuids: list[str]) -> list[str]:
    """A local experiment on this host takes the same; a node that is not the host itself adds its name."""
    node, host = nvidia_smi.node_name(), nvidia_smi.host_name()
    suffix = "" if node.split(".")[0] == host.split(".")[0] else f"-{node}"
    return [re.sub(r"[^\w-]", "_", f"{name}{suffix}") for name in uuids or ["cpu"]]


def lock_folder() -> Path:
    return Path("/var/lock") if os.access("/var/lock", os.W_OK) else Path(tempfile.gettempdir())


def start_streams(uuids: list[str]) -> list[tuple[subprocess.Popen[bytes], str]]:
    """The first one samples; without it nothing is known of the GPUs."""
    fields, _ = nvidia_smi.query("gpu", SAMPLE_FIELDS)
    ids = f"--id={','.join(uuids)}"
    energy = str(Path(__file__).resolve().parent / "energy.py")
    commands = {
        ",".join(fields): [
            *nvidia_smi.command("gpu", fields),
            ids,
            f"--loop-ms={SAMPLE_PERIOD_MILLISECONDS}",
        ],
        "processes": [
            *nvidia_smi.command("compute-apps", nvidia_smi.PROCESS_FIELDS),
            ids,
            f"--loop-ms={PROCESS_PERIOD_MILLISECONDS}",
        ],
        "energy": [sys.executable, "-I", "-S", energy, *uuids],
    }
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return [(subprocess.Popen(command, **pipes), kind) for kind, command in commands.items()]


def watch(watcher: Watcher, streams: list[tuple[subprocess.Popen[bytes], str]], stop: int) -> None:
    """Reads the streams until standard input ends or a byte comes through `stop`."""
    # Not epoll, which refuses a standard input that is a file or /dev/null.
    with selectors.PollSelector() as selector:
        selector.register(0, selectors.EVENT_READ, None)
        selector.register(stop, selectors.EVENT_READ, None)
        for process, kind in streams:
            if process.stdout is not None:
                selector.register(process.stdout, selectors.EVENT_READ, (kind, bytearray()))
        while True:
            for key, _ in selector.select():
                data = os.read(key.fd, MAX_LINE_BYTES)
                if key.data is None:
                    if key.fd == stop or not data:
                        return
                elif not data:
                    selector.unregister(key.fileobj)
                else:
                    take(watcher, *key.data, data)


def take(watcher: Watcher, kind: str, rest: bytearray, data: bytes) -> None:
    rest += data
    *lines, last = bytes(rest).split(b"\n")
    rest[:] = last[-MAX_LINE_BYTES:]
    for one in lines:
        line = one.decode(errors="replace")
        if kind == "energy":
            watcher.count(line.strip())
        elif kind == "processes":
            row = nvidia_smi.parse_row(line, nvidia_smi.PROCESS_FIELDS)
            if row is not None:
                watcher.meet(row)
        elif (row := nvidia_smi.parse_row(line, kind.split(","))) is not None:
            watcher.sample(row)


def stop_streams(streams: list[tuple[subprocess.Popen[bytes], str]]) -> bool:
    """Tells whether samples were taken until now."""
    was_sampling = not streams or streams[0][0].poll() is None
    for process, _ in streams:
        process.terminate()
    deadline = time.monotonic() + PATIENCE_SECONDS
    for process, _ in streams:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            was_sampling = False
    return was_sampling


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--marker", required=True)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--lock-folder", type=Path)
    given = parser.parse_args(arguments)
    # The signal writes a byte, so that none can come between two lines and be lost.
    stop, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    try:
        gpus = nvidia_smi.used_gpus(given.processes)
    except NoAnswer:
        gpus = []
    watcher = Watcher(given.out, given.marker, gpus)
    watcher.start(take_locks(lock_names(watcher.uuids), given.lock_folder or lock_folder()))
    streams = []
    with contextlib.suppress(NoAnswer):
        streams = start_streams(watcher.uuids) if gpus else []
    watch(watcher, streams, stop)
    was_sampling = stop_streams(streams) and (bool(streams) or not gpus)
    watcher.end(was_sampling)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
