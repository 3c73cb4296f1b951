"""A held-out set is the same whatever its batches, order and ranks, and another one with one other value."""

import pytest
import torch
from speedproof.watch.batches import watch
from speedproof.watch.held_out import HeldOutSet, described
from torch import Tensor

SAMPLES = torch.randn(40, 3, 5, generator=torch.Generator().manual_seed(1))
LABELS = torch.arange(40)


def set_of(samples: Tensor, labels: Tensor = LABELS, batch: int = 8) -> list[int] | None:
    held_out = HeldOutSet()
    for part, names in zip(samples.split(batch), labels.split(batch), strict=True):
        held_out.see({"x": part, "y": names, "epoch": torch.tensor(3)})
    return held_out.take()


def hash_of(*of_ranks: list[int] | None) -> object:
    return described(list(of_ranks))["data_hash"]


def test_batches_order_and_ranks_leave_it_the_same() -> None:
    whole = described([set_of(SAMPLES)])
    assert whole["evaluation_samples"] == 40
    order = torch.randperm(40)
    assert described([set_of(SAMPLES[order], LABELS[order], batch=7)]) == whole
    # The second rank repeats two samples of the first, to have as many as it.
    halves = [set_of(SAMPLES[:21], LABELS[:21]), set_of(SAMPLES[19:], LABELS[19:])]
    assert described(halves) == whole


def changed(place: tuple[int, ...]) -> Tensor:
    other = SAMPLES.clone()
    other[place] = torch.nextafter(other[place], torch.tensor(9.0))
    return other


@pytest.mark.parametrize(
    "other",
    [
        changed((0, 0, 0)),
        changed((39, 2, 4)),
        -SAMPLES,
        SAMPLES.flip(1),
        torch.cat([SAMPLES[1:2], SAMPLES[:1], SAMPLES[2:]]),
        SAMPLES.half(),
    ],
    ids=["first value", "last value", "signs", "order of values", "labels of two samples", "precision"],
)
def test_other_values_make_another_set(other: Tensor) -> None:
    assert hash_of(set_of(other)) != hash_of(set_of(SAMPLES))


def test_fewer_samples_are_another_set() -> None:
    assert described([set_of(SAMPLES[:39], LABELS[:39])])["evaluation_samples"] == 39


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.bfloat16, torch.float64, torch.complex64])
def test_values_of_every_size_are_told_apart(dtype: torch.dtype) -> None:
    held_out = HeldOutSet()
    held_out.see(torch.eye(6).to(dtype))
    assert described([held_out.take()])["evaluation_samples"] == 6


def test_long_samples_are_read_to_their_end() -> None:
    long = torch.zeros(2, 3_000_000, dtype=torch.uint8)
    long[1, -1] = 1
    held_out = HeldOutSet()
    held_out.see([long])
    assert described([held_out.take()])["evaluation_samples"] == 2


def test_samples_that_are_drawn_again_count_again() -> None:
    again = [0, 0, 0, *range(39)]
    repeated = described([set_of(SAMPLES[again], LABELS[again])])
    assert repeated["evaluation_samples"] == 42
    assert repeated["data_hash"] != hash_of(set_of(SAMPLES[:39], LABELS[:39]))


@pytest.mark.parametrize("padding", [0, 1, 7])
def test_padding_of_texts_is_no_part_of_them(padding: int) -> None:
    """Its length depends on the longest text of the batch."""
    text = torch.arange(1, 13).reshape(3, 4)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]])
    pad = torch.nn.functional.pad
    batch = {
        "input_ids": pad(text * mask, (0, padding), value=0),
        "attention_mask": pad(mask, (0, padding), value=0),
        "labels": pad(text * mask - 100 * (1 - mask), (0, padding), value=-100),
    }
    whole = HeldOutSet.of({"input_ids": text * mask, "attention_mask": mask, "labels": text * mask})
    assert described([HeldOutSet.of(batch).take()]) == described([whole.take()])


@pytest.mark.parametrize("odd", [torch.eye(3).to_sparse(), torch.nested.nested_tensor([torch.ones(2)])])
def test_tensors_without_plain_memory_leave_it_unknown(odd: Tensor) -> None:
    held_out = HeldOutSet()
    held_out.see({"x": odd})
    assert held_out.take() is None


def test_batches_without_a_tensor_leave_it_unknown() -> None:
    held_out = HeldOutSet()
    held_out.see({"text": ["one", "two"]})
    held_out.see(torch.ones(2, 2))
    assert described([held_out.take()]) == {}
    assert described([set_of(SAMPLES), None]) == {}


def test_loader_that_cannot_be_watched_shows_nothing() -> None:
    held_out = HeldOutSet()
    assert not watch([torch.ones(2, 2)], held_out.see)
    assert held_out.take() is None
