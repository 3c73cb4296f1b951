"""Whether a process of another program still runs, as Linux has it."""

from pathlib import Path


def is_there(pid: int) -> bool:
    try:
        # The name, in parentheses, may be any bytes.
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the latter where it is reaped while this reads
        return False
    return state != b"Z"  # which it stays where nothing reaps the orphans of a container
