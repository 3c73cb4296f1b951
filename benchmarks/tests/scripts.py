"""Calls a benchmark script in this process."""

import sys


def run(monkeypatch, script, *arguments: object) -> int | str | None:
    """What it exits with: a code, or what it says as it ends."""
    monkeypatch.setattr(sys, "argv", [script.__name__, *map(str, arguments)])
    try:
        return script.main()
    except SystemExit as ended:
        return ended.code
