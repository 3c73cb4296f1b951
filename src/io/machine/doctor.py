"""Prints, as one JSON line, what an interpreter has for a training: its version, torch, the GPUs torch sees.

python doctor.py [DATA ...]

Of each file or folder of data, `unlocked` says why a file in it cannot be locked, where it cannot.
"""

import fcntl
import importlib.util
import json
import os
import platform
import sys
from itertools import islice
from pathlib import Path

MOST_SEEN = 10_000


def main() -> int:
    facts = {"python": platform.python_version(), "torch": torch_facts()}
    unlocked = {path: reason for path in sys.argv[1:] if (reason := why_unlocked(Path(path)))}
    print(json.dumps({**facts, "unlocked": unlocked}))
    return 0


def torch_facts() -> dict[str, object] | None:
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return {
        "version": torch.__version__,
        "hasTorchrun": importlib.util.find_spec("torch.distributed.run") is not None,
        "cuda": torch.version.cuda,
        "gpus": torch.cuda.device_count(),
    }


def why_unlocked(path: Path) -> str | None:
    """Locks the first file as HDF5 does to read it; None where that works, or where there is no file."""
    files = [path] if path.is_file() else path.rglob("*")
    file = next((one for one in islice(files, MOST_SEEN) if one.is_file()), None)
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:  # somebody holds a lock, so that there are some
        return None
    except OSError as error:
        return os.strerror(error.errno)
    return None


if __name__ == "__main__":
    sys.exit(main())
