"""The one recorder that the callbacks of a process share: a second training in it ends the record."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from speedproof.recorder import Recorder
from speedproof.run.metrics_file import write_reason
from speedproof.run.ranks import ranks_by_environment
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
    except FileExistsError as error:  # that file is another run's, and stays as it is
        say(f"not measured: {error}")
        return None
    except NotImplementedError as error:  # a device without a clock of ours, on every rank alike
        say(f"not measured: {error}")
        if ranks_by_environment()[0] == 0:
            write_reason(Path(folder or os.environ["SPEEDPROOF_RECORD"]), str(error))
        return None
    _recorder, _model = recorder, known["model"]
    return recorder
