"""Shapes and types in signatures of `trainer` are checked while the tests run, if beartype is there."""

import builtins
import signal
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
import torch
from jaxtyping import install_import_hook

if find_spec("beartype"):  # a GPU machine that brings its own torch may not have it
    install_import_hook("trainer", "shape_checks.checked")
    builtins.Tensor = torch.Tensor  # the config's imports name it for type checkers only
torch.set_num_threads(1)  # on tiny tensors a second thread is only waited for


@pytest.fixture(autouse=True)
def own_termination() -> Iterator[None]:
    """Benchmarks answer a termination by an exception: what later tests fork is not to inherit that."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a fixture of a minute serves comes first: xdist's processes take from each other what is last."""
    items.sort(key=lambda item: "trained_in_ranks" not in getattr(item, "fixturenames", ()))
