"""Which pairs make an update, whatever reads them and however they are cut."""

import dataclasses

import numpy as np
import pytest
import torch
from tiny import tiny_config

from trainer.counter_random import uniform
from trainer.data.feed import Share, open_feed
from trainer.data.schedule import BatchSchedule
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.losses.choices import StepChoices

CPU = torch.device("cpu")


def test_an_epoch_shows_every_pair_once():
    schedule = BatchSchedule(pairs=12, pairs_per_update=4, seed=0)
    first, second = (np.concatenate([schedule.update(s) for s in steps]) for steps in ([1, 2, 3], [4, 5, 6]))
    assert sorted(first) == sorted(second) == list(range(12))
    assert first.tolist() != second.tolist()


def test_an_update_is_a_function_of_seed_and_step():
    schedule = BatchSchedule(pairs=100, pairs_per_update=8, seed=5)
    late_first = [BatchSchedule(100, 8, 5).update(step).tolist() for step in (9, 3)]
    assert late_first == [schedule.update(9).tolist(), schedule.update(3).tolist()]
    assert BatchSchedule(100, 8, 6).update(3).tolist() != late_first[1]


@pytest.mark.parametrize(("world_size", "micro_steps"), [(1, 1), (1, 4), (2, 1), (2, 2), (4, 2)])
def test_the_pairs_of_an_update_do_not_depend_on_ranks_and_micro_steps(world_size, micro_steps):
    schedule = BatchSchedule(pairs=100, pairs_per_update=16, seed=0)
    parts = [
        schedule.micro_batch(3, micro_step, micro_steps, rank, world_size)
        for micro_step in range(micro_steps)
        for rank in range(world_size)
    ]
    assert sorted(np.concatenate(parts)) == sorted(schedule.update(3))


def test_more_pairs_per_update_than_there_are_is_refused():
    with pytest.raises(ConfigError, match="got 16, expected at most the 15 training pairs"):
        BatchSchedule(pairs=15, pairs_per_update=16, seed=0)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_both_data_paths_deliver_the_same_bits(tmp_path, workers):
    config = tiny_config(tmp_path)
    data = open_data(config.data)
    share = Share(BatchSchedule(len(data.train.table), 16, seed=1), rank=1, world_size=2, micro_steps=2)
    batches = []
    for path in ("loader", "resident"):
        speed = dataclasses.replace(config.speed, data_path=path, loader_workers=workers)
        feed = open_feed(data.train, share, updates=4, speed=speed, device=CPU)
        batches.append([batch for step in range(1, 5) for batch in feed.update(step)])
        feed.close()
    assert len(batches[0]) == 8
    for from_loader, resident in zip(*batches, strict=True):
        for one, other in zip(from_loader, resident, strict=True):
            assert torch.equal(one, other)


def test_a_pair_is_two_frames_of_one_trajectory_in_normalised_units(tmp_path):
    config = tiny_config(tmp_path)
    pairs = open_data(config.data).train
    batch = pairs.read(np.array([0, len(pairs.table) - 1]))
    last = pairs.files[1].values()[pairs.table.row[-1], :, ::2]
    physical = batch.next_field[1].numpy() / pairs.normalisation.field_scale + pairs.normalisation.field_mean
    np.testing.assert_allclose(physical, last[5], atol=1e-6)
    before = batch.field[1].numpy() / pairs.normalisation.field_scale + pairs.normalisation.field_mean
    np.testing.assert_allclose(before, last[3], atol=1e-6)


def test_conditions_tell_dt_and_beta_apart(tmp_path):
    pairs = open_data(tiny_config(tmp_path).data).train
    every = pairs.read(np.arange(len(pairs.table))).condition
    assert len(every.unique(dim=0)) == 4
    torch.testing.assert_close(every.mean(dim=0), torch.zeros(2), atol=1e-5, rtol=0)


def test_random_numbers_are_uniform_and_do_not_depend_on_the_batch():
    pairs = torch.arange(4000)
    numbers = uniform(1, 7, 3, pairs, 8)
    assert torch.equal(numbers[100:200], uniform(1, 7, 3, pairs[100:200], 8))
    assert not torch.equal(numbers, uniform(2, 7, 3, pairs, 8))
    assert not torch.equal(numbers, uniform(1, 7, 4, pairs, 8))
    share = numbers.flatten().mul(10).long().bincount(minlength=10) / numbers.numel()
    torch.testing.assert_close(share, torch.full((10,), 0.1), atol=0.01, rtol=0)
    assert torch.corrcoef(numbers.T).fill_diagonal_(0).abs().max() < 0.06


def test_drop_path_keeps_the_mean_and_never_drops_the_first_block(tmp_path):
    choices = StepChoices.of(tiny_config(tmp_path), seed=0)
    scale = choices.branch_scale(1, torch.arange(10000))
    assert scale[0].eq(1).all()
    assert scale[1].eq(0).float().mean().item() == pytest.approx(0.2, abs=0.02)
    assert scale[1].mean().item() == pytest.approx(1, abs=0.02)


def test_queries_are_distinct_points_chosen_per_pair(tmp_path):
    choices = StepChoices.of(tiny_config(tmp_path, "loss.query_points=5", "loss.spectral=0"), seed=0)
    queries = choices.queries(1, torch.arange(50))
    assert queries.shape == (50, 5)
    assert all(len(row.unique()) == 5 for row in queries)
    assert len(queries.unique(dim=0)) > 40
