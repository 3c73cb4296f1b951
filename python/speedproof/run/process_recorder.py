"""The one recorder that the callbacks of a process share: a second training in it ends the record."""

from __future__ import annotations

import os
from typing import Any

from speedproof.recorder import Recorder
from speedproof.run.recording import say

TWICE = "a second training started in this process, and a record holds one. Measure a script that trains once"
_recorder: Recorder | None = None
_model: Any = None


def start_recorder(folder: str | os.PathLike[str] | None, **known: Any) -> Recorder | None:
    """Return a started recorder; None where this training is not to be recorded. known: as Recorder.start."""
    global _recorder, _model
    if _recorder is not None:
        if known["model"] is not _model or _recorder.steps_taken > 0:
            _recorder.refuse(TWICE)
        return None  # a callback that a script adds itself, beside the one that was put in
    recorder = Recorder(folder)
    try:
        recorder.start(**known)
    except (FileExistsError, NotImplementedError) as error:
        say(f"not measured: {error}")
        return None
    _recorder, _model = recorder, known["model"]
    return recorder
