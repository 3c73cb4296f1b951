"""What check-sampling counts, and what its exit code says."""

import numpy as np
import pytest
from tiny import tiny_config, tiny_file

from trainer.cli import main
from trainer.data.batches.balance import FileBalance, is_balanced, sampling_balance
from trainer.data.splits import open_data


def test_every_pair_of_the_training_is_counted(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[advection1d, darcy2d]")
    train = open_data(config).train
    schedule = train.schedule(config.train.pairs_per_update, 0)
    balance = sampling_balance(train, schedule, config.cut.steps, 1, 2)
    assert {part.task for part in balance} == {"advection1d", "darcy2d"}
    per_rank = sum(part.pairs for part in balance)
    assert per_rank.tolist() == [56, 56]  # 7 updates of 16 pairs
    assert sum(part.pairs.sum() for part in balance if part.task == "darcy2d") == 56


@pytest.mark.parametrize(
    ("pairs", "balanced"), [([100, 100], True), ([100, 110], True), ([100, 150], False), ([0, 0], False)]
)
def test_the_spread_over_ranks_decides(pairs, balanced):
    assert (
        is_balanced([FileBalance("a", "b", np.array([5, 5])), FileBalance("a", "c", np.array(pairs))])
        is balanced
    )


@pytest.mark.parametrize(("updates", "code"), [("400", 0), ("3", 1)])
def test_the_exit_code_says_whether_the_ranks_are_balanced(tmp_path, capsys, updates, code):
    arguments = ["check-sampling", "--config", str(tiny_file(tmp_path)), "--ranks", "8"]
    assert main([*arguments, "--set", f"train.updates={updates}"]) == code
    assert ("UNBALANCED" in capsys.readouterr().out) is (code == 1)


def test_a_batch_that_the_ranks_cannot_share_is_bad_input(tmp_path, capsys):
    assert main(["check-sampling", "--config", str(tiny_file(tmp_path)), "--ranks", "3"]) == 2
    assert "multiple of world size 3" in capsys.readouterr().err
