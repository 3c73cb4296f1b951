"""`python -m speedproof.record SCRIPT ...` runs a script and records what it and its children train."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from speedproof.switch import ROOT

SITE = Path(__file__).resolve().parent / "site"


def main(words: list[str]) -> NoReturn:
    """Become the script: same process, same interpreter, recording switched on by the environment."""
    parser = argparse.ArgumentParser(prog="python -m speedproof.record", description=__doc__)
    parser.add_argument("--out", help="folder for metrics.jsonl; default: what SPEEDPROOF_RECORD names")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    options = parser.parse_args(words)
    folder = options.out or os.environ.get("SPEEDPROOF_RECORD")
    if not folder:
        parser.error("name a folder with --out, or in SPEEDPROOF_RECORD")
    if (Path(folder) / "metrics.jsonl").exists():
        parser.error(f"{folder} holds a metrics.jsonl already; name an empty folder")
    if sys.flags.isolated or sys.flags.ignore_environment or sys.flags.no_site:
        parser.error("-I, -E and -S keep Python from reading PYTHONPATH, by which recording is switched on")
    environment = {
        **os.environ,
        "SPEEDPROOF_RECORD": str(Path(folder).resolve()),
        "PYTHONPATH": os.pathsep.join([str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]),
        ROOT: str(os.getpid()),
    }
    script = ["-m", options.script] if options.module else [options.script]
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *script, *options.arguments], environment)


if __name__ == "__main__":
    main(sys.argv[1:])
