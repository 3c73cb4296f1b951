"""How the ranks of a run work on one model: one file per value of `speed.wrapper`."""

from trainer.wrapper.choice import Wrapper, wrap

__all__ = ["Wrapper", "wrap"]
