"""Records what a PyTorch training did, as the metrics.jsonl that Speedproof judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from speedproof.recorder import Recorder
    from speedproof.watch.held_out import HeldOutSet

__all__ = ["HeldOutSet", "Recorder", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import torch only where it is needed: each child of a recorded script imports this package."""
    if name == "Recorder":
        from speedproof.recorder import Recorder

        return Recorder
    if name == "HeldOutSet":
        from speedproof.watch.held_out import HeldOutSet

        return HeldOutSet
    raise AttributeError(f"module 'speedproof' has no attribute {name!r}")
