"""How many samples a batch has, in the forms that loaders give it."""

import pytest
import torch
from speedproof.watch.batches import batch_size

ROWS = torch.ones(32, 3)


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        (ROWS, 32),
        ([ROWS, torch.ones(32)], 32),
        ({"epoch": torch.tensor(3), "x": ROWS}, 32),
        ({"nested": {"x": (ROWS,)}}, 32),
        (torch.tensor(1.0), 1),
        ({"text": ["one", "two"]}, None),
        ({"input_ids": torch.ones(1, 4096), "position_ids": torch.ones(1, 4096)}, None),
        ({"input_ids": torch.ones(8, 512), "position_ids": torch.ones(8, 512)}, 8),
    ],
    ids=["tensor", "list", "number first", "nested", "number alone", "no tensor", "packed", "not packed"],
)
def test_samples_of(batch: object, samples: int | None) -> None:
    assert batch_size(batch) == samples
