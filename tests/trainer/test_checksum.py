"""The checksum that tells weights of one rank from those of another."""

import copy

import pytest
import torch

from trainer.counter_random import mix
from trainer.errors import RanksDisagree
from trainer.process.world import World
from trainer.run.failures.checksum import checksums, require_equal_weights


def changed(change) -> list[bool]:
    """Whether the checksums of weight and bias differ behind a change of the weight."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(6, 4)
    other = copy.deepcopy(layer)
    other.weight.data = change(other.weight.data)
    return (checksums(layer) != checksums(other)).tolist()


def last_bit(weight: torch.Tensor, row: int, column: int) -> torch.Tensor:
    weight.view(torch.int32)[row, column] ^= 1
    return weight


def test_equal_weights_have_equal_checksums():
    assert changed(torch.clone) == [False, False]


CHANGES = {
    "the last bit of the first number": lambda weight: last_bit(weight, 0, 0),
    "the last bit of the last number": lambda weight: last_bit(weight, 3, 5),
    "rows in another order": lambda weight: weight[[1, 0, 2, 3]],
    "columns in another order": lambda weight: weight.roll(1, dims=1),
    "transposed": lambda weight: weight.t().reshape(4, 6),
    "every sign": lambda weight: weight.negative(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_weights_that_differ_or_lie_elsewhere_have_another_checksum(change):
    assert changed(change) == [True, False]


def test_a_sum_past_64_bits_is_the_whole_one_modulo_2_to_the_64():
    layer = torch.nn.Linear(10, 10, bias=False)
    layer.weight.data = torch.full((10, 10), -(2**31), dtype=torch.int32).view(torch.float32)
    expected = sum(-(2**31) * mix(place) for place in range(1, 101))
    assert expected < -(2**63)
    assert checksums(layer).item() % 2**64 == expected % 2**64


@pytest.mark.parametrize(("differing", "named"), [((0, 1), "weight"), ((1,), "bias"), ((), None)])
def test_the_first_weight_that_one_of_the_ranks_has_otherwise_is_named(differing, named):
    class AmongThree(World):
        def gather(self, values: torch.Tensor) -> torch.Tensor:
            other = values.clone()
            other[list(differing)] += 1
            return torch.stack([values, other, values])

    layer, world = torch.nn.Linear(6, 4), AmongThree(0, 3, torch.device("cpu"))
    if named is None:
        require_equal_weights(layer, world, 4)
        return
    with pytest.raises(RanksDisagree, match=f"after step 4 the ranks hold different values of {named};"):
        require_equal_weights(layer, world, 4)
