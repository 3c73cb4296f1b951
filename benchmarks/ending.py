"""Ends a launch with all of its ranks."""

from __future__ import annotations

import subprocess

SURRENDER_SECONDS = 60.0  # torchrun gives its ranks 30 to end


def end(launch: subprocess.Popen) -> None:
    """Return when it is gone, with what torchrun started: its ranks have sessions of their own, and only
    torchrun, asked to end, ends them. A rank that is left would disturb what is measured next.
    """
    if launch.poll() is None:
        launch.terminate()
        try:
            launch.wait(SURRENDER_SECONDS)
        except subprocess.TimeoutExpired:
            launch.kill()
    launch.wait()
