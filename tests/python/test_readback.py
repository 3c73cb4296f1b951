"""What is in effect is read without ending the training, whatever the training has set."""

from collections.abc import Iterator

import pytest
import torch
from speedproof.watch.readback import effective


@pytest.fixture
def model() -> torch.nn.Module:
    return torch.nn.Linear(1, 1)


@pytest.fixture
def tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    yield
    torch.backends.cuda.matmul.fp32_precision = before


def test_the_matmul_precision_is_read(model: torch.nn.Module) -> None:
    assert effective([], [], model, set())["float32_matmul_precision"] == "highest"


@pytest.mark.usefixtures("tf32")
def test_the_matmul_precision_is_read_behind_torchs_newer_switch(model: torch.nn.Module) -> None:
    assert effective([], [], model, set())["float32_matmul_precision"] == "tf32"


def test_what_cannot_be_read_is_left_out(model: torch.nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise RuntimeError("not with this build")

    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", refuse)
    found = effective([torch.optim.SGD(model.parameters())], list(model.parameters()), model, set())
    assert "deterministic" not in found
    assert found["optimizer"] == "SGD"
    assert found["parameter_dtype"] == "float32"
