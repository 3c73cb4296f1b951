"""Whether a process of another program still runs, as Linux has it."""

from contextlib import suppress
from pathlib import Path


def commands_with(text: str) -> list[bytes]:
    """The command lines of running processes in which the text occurs."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it ended meanwhile
            found.append(file.read_bytes())
    return [command for command in found if text.encode() in command]


def is_there(pid: int) -> bool:
    try:
        # The name, in parentheses, may be any bytes.
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the latter where it is reaped while this reads
        return False
    return state != b"Z"  # which it stays where nothing reaps the orphans of a container
