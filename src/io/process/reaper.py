"""Runs one command, adopts every orphan it leaves, and ends them all before it ends itself.

    python -I -S reaper.py PARENT_PID COMMAND [ARGUMENT ...] 3>control

It ends as the command did: with the same exit code, or by the same signal. On SIGTERM, which is also
what it gets when its parent dies, it ends the command first and then dies by SIGTERM.

File descriptor 3 tells the parent what an exit code cannot: `starting`, then `ended` when the command
itself is over (its orphans may take longer) and `clean` when the kernel says that no child is left, or
`failed REASON` with exit code 127. A reaper that ends without `clean` may have left what only it could find.

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
from collections.abc import Iterator
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h, as the next
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 3.0  # the supervisor loses patience after 4
SURRENDER_SECONDS = 30.0  # stuck in a driver, a process outlives SIGKILL; waiting longer would not end it
POLL_SECONDS = 0.02
MOST_REAPED = 256  # at a time: what forks and exits without pause would never let the loop end
# __WALL of linux/wait.h: children that end without SIGCHLD too
ANY_KIND = 0x40000000 if sys.platform == "linux" else 0
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
        ended, is_more = reap()
        if child in ended:
            return ended[child]
        # Children that wait to be collected send no second signal.
        wanted = signal.sigpending() & WATCHED_SIGNALS if is_more else WATCHED_SIGNALS
        if wanted and signal.sigwait(wanted) in STOP_SIGNALS:
            return None


def reap() -> tuple[dict[int, int], bool]:
    """Collects the status of children that have ended, adopted ones too, and tells whether there are more."""
    ended: dict[int, int] = {}
    while len(ended) < MOST_REAPED:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | ANY_KIND)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, False
        ended[pid] = status
    return ended, True


def end_descendants(child: int) -> bool:
    """Returns False where some outlive SIGKILL, or fork faster than they can be ended."""
    for pid in living_descendants(child):
        send(pid, signal.SIGTERM)
    now = time.monotonic()
    deadline, surrender = now + GRACE_SECONDS, now + SURRENDER_SECONDS
    while not is_childless(child):
        now = time.monotonic()
        if now >= surrender:
            return False
        if now >= deadline:
            kill_children(child)
        ended, _ = reap()
        # Where one has ended another may be born: without a pause the next look comes before its own births.
        if not (ended and now >= deadline):
            time.sleep(POLL_SECONDS)
    return True


def is_childless(child: int) -> bool:
    """Asks the kernel: /proc does not show what forks and exits meanwhile, but an orphan is ours at once."""
    if sys.platform != "linux":
        return not send(-child, 0)
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | ANY_KIND)
    except ChildProcessError:
        return True
    return False


def kill_children(child: int) -> None:
    """Sends SIGKILL to every child and its process group: what they leave is a child the next time.

    A signal to a group reaches what a member forks meanwhile. A child that has ended keeps its group's
    number until it is reaped, so that the number is nobody else's.
    """
    if sys.platform != "linux":
        send(-child, signal.SIGKILL)
        return
    for pid in children():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(pid)
            # Each command is started in a session of its own, and nothing joins a group of another session.
            if group not in (0, os.getpgrp()):
                os.killpg(group, signal.SIGKILL)
        send(pid, signal.SIGKILL)


def children() -> list[int]:
    """Lists the children of this process, where the kernel can those that are not reaped yet too."""
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{me}/children").read_text().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid, parent in living_with_parents() if parent == me]


def living_descendants(child: int) -> list[int]:
    """Lists what can still be signalled: process ids, or minus the group id where there is no /proc."""
    found = descendants(os.getpid()) if sys.platform == "linux" else [-child]
    return [pid for pid in found if send(pid, 0)]


def descendants(root: int) -> list[int]:
    children_of: dict[int, list[int]] = {}
    for pid, parent in living_with_parents():
        children_of.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        born = children_of.get(queue.pop(), [])
        found += born
        queue += born
    return found


def living_with_parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").iterdir():
        parent = living_parent(folder) if folder.name.isdigit() else None
        if parent is not None:
            yield int(folder.name), parent


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
