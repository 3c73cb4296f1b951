"""Runs one command, adopts every orphan it leaves, and ends them all before it ends itself.

    python -I -S reaper.py PARENT_PID COMMAND [ARGUMENT ...] 3>control

It ends as the command did: with the same exit code, or by the same signal. On SIGTERM, which is also
what it gets when its parent dies, it ends the command first and then dies by SIGTERM.

File descriptor 3 tells the parent what an exit code cannot: `starting`, then `ended` when the command
itself is over (its orphans may take longer) and `clean` when nothing of it is left, or `failed REASON`
with exit code 127. A reaper that ends without `clean` may have left what only it could find.

Only Linux has sub-reapers, parent-death signals and /proc. Elsewhere the command's process group is all
that is ended, and a parent that dies leaves the command running.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h, as the next
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 3.0  # the supervisor loses patience after 4
SURRENDER_SECONDS = 30.0  # stuck in a driver, a process outlives SIGKILL; waiting longer would not end it
POLL_SECONDS = 0.02
CONTROL_DESCRIPTOR = 3
STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
WATCHED_SIGNALS = STOP_SIGNALS | {signal.SIGCHLD}
COULD_NOT_START = 127


def main(arguments: list[str]) -> int:
    parent, command = int(arguments[0]), arguments[1:]
    os.set_inheritable(CONTROL_DESCRIPTOR, False)
    # One stream instead of two keeps prints and tracebacks in the order they were written.
    os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
    # Blocked signals wait for sigwait below: none can arrive between two lines and be lost.
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED_SIGNALS)
    # BSD drops a signal without a handler even while it is blocked.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        follow_parent_and_adopt_orphans()
        # A parent that died before the line above sends no signal any more.
        if os.getppid() != parent:
            return COULD_NOT_START
        # Said first: the command may kill this process before another line of it runs.
        tell("starting")
        child = start(command)
    except OSError as error:
        tell(f"failed {error.strerror}")
        return COULD_NOT_START
    status = wait_for(child)
    tell("ended")
    if end_descendants(child):
        tell("clean")
    if status is None:
        return die_by(signal.SIGTERM)
    exit_code = os.waitstatus_to_exitcode(status)
    return exit_code if exit_code >= 0 else die_by(-exit_code)


def follow_parent_and_adopt_orphans() -> None:
    """Asks for SIGTERM at the end of the parent, which to Linux is the thread that started this process."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = {PR_SET_CHILD_SUBREAPER: 1, PR_SET_PDEATHSIG: signal.SIGTERM}
    for option, value in wanted.items():
        if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def start(command: list[str]) -> int:
    """Starts the command in its own session, with the signal state that a shell would give it."""
    return os.posix_spawnp(
        command[0],
        command,
        os.environ,
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),  # Python ignores these two
    )


def wait_for(child: int) -> int | None:
    """Waits for the child's status; None when this process was told to stop first."""
    while True:
        ended = reap()
        if child in ended:
            return ended[child]
        if signal.sigwait(WATCHED_SIGNALS) in STOP_SIGNALS:
            return None


def reap() -> dict[int, int]:
    """Collects the status of every child that has ended, adopted ones too."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def end_descendants(child: int) -> bool:
    """Returns False where some outlive SIGKILL."""
    for pid in living_descendants(child):
        send(pid, signal.SIGTERM)
    now = time.monotonic()
    deadline, surrender = now + GRACE_SECONDS, now + SURRENDER_SECONDS
    while True:
        reap()
        left = living_descendants(child)
        if not left or time.monotonic() >= surrender:
            return not left
        if time.monotonic() >= deadline:
            for pid in left:
                send(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def living_descendants(child: int) -> list[int]:
    """Lists what can still be signalled: process ids, or minus the group id where there is no /proc."""
    found = descendants(os.getpid()) if sys.platform == "linux" else [-child]
    return [pid for pid in found if send(pid, 0)]


def descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            parent = living_parent(folder)
            if parent is not None:
                children.setdefault(parent, []).append(int(folder.name))
    found: list[int] = []
    queue = [root]
    while queue:
        born = children.get(queue.pop(), [])
        found += born
        queue += born
    return found


def living_parent(folder: Path) -> int | None:
    """Reads the parent from /proc/PID/stat; None for a process that is over."""
    try:
        # The name, in parentheses, may itself hold blanks and parentheses.
        fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, parent, threads = fields[0], int(fields[1]), int(fields[17])
    # A process whose first thread has ended looks like a zombie while its other threads run on.
    return None if state in b"ZX" and threads <= 1 else parent


def send(pid: int, number: int) -> bool:
    """Sends a signal; False if there is no such process or it belongs to somebody else."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def tell(line: str) -> None:
    # It fails when the parent is gone, and then there is nobody to tell.
    with contextlib.suppress(OSError):
        os.write(CONTROL_DESCRIPTOR, f"{line}\n".encode())


def die_by(number: int) -> int:
    """Ends this process by the signal; returns the shell's 128 + n where it cannot."""
    # The command has dumped its own core.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.kill(os.getpid(), number)
    return 128 + number


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
