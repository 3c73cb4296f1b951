"""An error on one rank reaches the others, whatever its kind."""

import pytest
import torch

from trainer.errors import ConfigError
from trainer.process.agreement import on_all_ranks
from trainer.process.world import World


def action_that_raises(error: Exception | None):
    def action() -> str:
        if error is not None:
            raise error
        return "found"

    return action


@pytest.mark.parametrize("error", [MemoryError("no memory"), OSError("read error"), ConfigError("bad key")])
def test_every_rank_ends_with_an_error_that_one_rank_had(monkeypatch, error):
    texts: list[str] = []
    monkeypatch.setattr(World, "gather_text", lambda _, own: texts.append(own) or [own, ""])
    world = World(0, 2, torch.device("cpu"))
    with pytest.raises((type(error), ConfigError), match=str(error)):
        on_all_ranks(action_that_raises(error), world)
    monkeypatch.setattr(World, "gather_text", lambda _, own: [texts[0], own])
    with pytest.raises(ConfigError, match=f"rank 0: .*{error}"):
        on_all_ranks(action_that_raises(None), World(1, 2, torch.device("cpu")))
