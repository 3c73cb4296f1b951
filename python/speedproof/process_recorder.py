"""The one recorder that the callbacks of a process share: a second training in it ends the record."""

from __future__ import annotations

import os
from typing import Any

from speedproof.recorder import Recorder
from speedproof.recording import say

TWICE = "a second training started in this process, and a record holds one"
_recorder: Recorder | None = None


def start_recorder(folder: str | os.PathLike[str] | None, **known: Any) -> Recorder | None:
    """Return a started recorder; None where this training cannot be recorded. known: as Recorder.start."""
    global _recorder
    if _recorder is not None:
        _recorder.refuse(TWICE)
        return None
    recorder = Recorder(folder)
    try:
        recorder.start(**known)
    except FileExistsError as error:
        say(f"not measured: {error}")
        return None
    _recorder = recorder
    return recorder
