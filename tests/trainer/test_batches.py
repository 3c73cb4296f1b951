"""Which pairs make an update, whatever reads them and however they are cut."""

import dataclasses

import numpy as np
import pytest
import torch
from tiny import tiny_config

from trainer.build import build_choices
from trainer.counter_random import uniform
from trainer.data.batches.feed import Share, open_feed
from trainer.data.batches.mixture import ResidentSet, TaskSet
from trainer.data.batches.schedule import BatchSchedule, _shuffled
from trainer.data.files.normalisation import physical
from trainer.data.splits import open_data
from trainer.data.tasks import TASKS
from trainer.data.threads import on_threads
from trainer.errors import ConfigError

CPU = torch.device("cpu")
BOTH = "data.tasks=[advection1d, darcy2d]"


def test_an_epoch_shows_every_pair_once():
    schedule = BatchSchedule(pairs=12, pairs_per_update=4, seed=0, task="a")
    first, second = (np.concatenate([schedule.update(s) for s in steps]) for steps in ([1, 2, 3], [4, 5, 6]))
    assert sorted(first) == sorted(second) == list(range(12))
    assert first.tolist() != second.tolist()


def test_an_update_is_a_function_of_seed_and_step():
    schedule = BatchSchedule(100, 8, 5, "a")
    late_first = [BatchSchedule(100, 8, 5, "a").update(step).tolist() for step in (9, 3)]
    assert late_first == [schedule.update(9).tolist(), schedule.update(3).tolist()]
    assert BatchSchedule(100, 8, 6, "a").update(3).tolist() != late_first[1]


def test_no_pass_of_a_seed_is_one_of_another():
    passes = {tuple(BatchSchedule(20, 20, seed, "a").update(step)) for seed in range(3) for step in (1, 2, 3)}
    assert len(passes) == 9


@pytest.mark.parametrize(("world_size", "micro_steps"), [(1, 1), (1, 4), (2, 1), (2, 2), (4, 2)])
def test_the_pairs_of_an_update_do_not_depend_on_ranks_and_micro_steps(world_size, micro_steps):
    schedule = BatchSchedule(100, 16, 0, "a")
    parts = [
        schedule.micro_batch(3, micro_step, micro_steps, rank, world_size)
        for micro_step in range(micro_steps)
        for rank in range(world_size)
    ]
    assert sorted(np.concatenate(parts)) == sorted(schedule.update(3))


def test_tasks_of_as_many_pairs_are_drawn_in_orders_of_their_own(tmp_path):
    task = open_data(tiny_config(tmp_path)).train.tasks[0]
    first, second = TaskSet((task, task), (1, 1)).schedule(16, seed=5).tasks
    assert first.pairs == second.pairs
    assert first.update(1).tolist() != second.update(1).tolist()
    assert second.update(1).tolist() == BatchSchedule(second.pairs, 8, 5 + 7919, "a").update(1).tolist()


def test_a_pass_is_shuffled_once_however_many_tasks_take_turns():
    schedules = [BatchSchedule(1000 + task, 8, 5, "a") for task in range(2 * len(TASKS))]
    _shuffled.cache_clear()
    for step in range(1, 5):
        for schedule in schedules:
            schedule.update(step)
    assert _shuffled.cache_info().misses == len(schedules)


def test_more_pairs_per_update_than_there_are_is_refused():
    with pytest.raises(ConfigError, match="got 16 of a, expected at most its 15 training pairs"):
        BatchSchedule(15, 16, 0, "a")


def test_a_rest_is_dropped_or_filled_up_from_the_same_pass():
    dropped, padded = (BatchSchedule(9, 4, 0, "a", rest) for rest in ("drop", "pad"))
    assert (dropped.updates_per_epoch, padded.updates_per_epoch) == (2, 3)
    epoch = np.concatenate([padded.update(step) for step in (1, 2, 3)])
    assert sorted(set(epoch)) == list(range(9))
    assert epoch[9:].tolist() == epoch[:3].tolist()
    assert sorted(set(np.concatenate([padded.update(step) for step in (4, 5, 6)]))) == list(range(9))


def test_pairs_that_come_out_even_leave_no_rest():
    for rest in ("drop", "pad"):
        assert BatchSchedule(12, 4, 0, "a", rest).updates_per_epoch == 3
        assert sorted(BatchSchedule(4, 4, 0, "a", rest).update(1)) == [0, 1, 2, 3]


def test_the_shares_of_the_ranks_are_the_pairs_of_the_update(tmp_path):
    schedule = open_data(tiny_config(tmp_path)).train.schedule(16, seed=0)
    shares = [Share(schedule, rank, 2, 2).pairs(3, micro_step) for rank in (0, 1) for micro_step in (0, 1)]
    assert sorted(np.concatenate(shares)) == sorted(schedule.tasks[0].update(3))


def test_a_pass_ends_when_every_task_has_been_seen(tmp_path):
    train = open_data(tiny_config(tmp_path, BOTH)).train
    assert [len(task.table) for task in train.tasks] == [108, 12]
    assert train.schedule(8, seed=0).updates_per_epoch == 108 // 4


def test_fewer_pairs_than_ranks_are_shared_by_padding():
    schedule = BatchSchedule(3, 4, 0, "a", "pad")
    for step in (1, 2):
        shares = [schedule.micro_batch(step, 0, 1, rank, 4).tolist() for rank in range(4)]
        assert [len(share) for share in shares] == [1, 1, 1, 1]
        assert {pair for share in shares for pair in share} == {0, 1, 2}


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_both_data_paths_deliver_the_same_bits(tmp_path, workers, monkeypatch):
    parts: list[int] = []

    def counted(function, items, progress):
        parts.append(len(items))
        return on_threads(function, items, progress)

    monkeypatch.setattr("trainer.data.batches.pair_readers.PART_BYTES", 2**11)
    monkeypatch.setattr("trainer.data.batches.pair_readers.on_threads", counted)
    config = tiny_config(tmp_path, BOTH)
    data = open_data(config)
    share = Share(data.train.schedule(8, seed=1), rank=1, world_size=2, micro_steps=2)
    batches = []
    for path in ("loader", "resident"):
        speed = dataclasses.replace(config.speed, data_path=path, loader_workers=workers)
        feed = open_feed(data.train, share, updates=3, speed=speed, device=CPU)
        batches.append([batch for step in range(1, 4) for batch in feed.update(step)])
        feed.close()
    assert min(parts) > 1
    assert len(batches[0]) == 6
    for from_loader, resident in zip(*batches, strict=True):
        assert [len(field) for field in from_loader.fields] == [1, 1]
        parts = [
            [*batch.fields, *batch.next_fields, batch.pair, batch.condition]
            for batch in (from_loader, resident)
        ]
        assert all(torch.equal(one, other) for one, other in zip(*parts, strict=True))


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("part_bytes", [1, 2**11, 2**22])
def test_what_is_resident_is_what_the_loader_reads(tmp_path, monkeypatch, part_bytes, every):
    monkeypatch.setattr("trainer.data.batches.pair_readers.PART_BYTES", part_bytes)
    reduced = [f"data.{key}={every}" for key in ("reduced_resolution", "reduced_resolution_2d")]
    train = open_data(tiny_config(tmp_path, BOTH, *reduced)).train
    assert all(np.diff(task.table.row[:6]).max() > 1 for task in train.tasks)  # there are gaps
    for mapped, resident in zip(train.tasks, ResidentSet(train, CPU).tasks, strict=True):
        pairs = np.arange(len(mapped.table))
        found, expected = resident.read(torch.from_numpy(pairs)), mapped.read(pairs)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_a_part_goes_to_a_gpu_through_pinned_pages(tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.data.batches.pair_readers.PART_BYTES", 2**11)
    train, empty, pinned = open_data(tiny_config(tmp_path, BOTH)).train, torch.empty, []

    def noting(*size, pin_memory: bool = False, **options) -> torch.Tensor:
        made = empty(*size, **options)  # there is no GPU
        pinned.extend([made.nbytes] if pin_memory else [])
        return made

    copy, copies = torch.Tensor.copy_, []

    def noting_copy(place: torch.Tensor, states: torch.Tensor, *options, **named) -> torch.Tensor:
        copies.append((options, named))
        return copy(place, states)

    expected = [task.states for task in ResidentSet(train, CPU).tasks]
    with monkeypatch.context() as patched:
        patched.setattr(torch, "empty", noting)
        patched.setattr(torch.Tensor, "copy_", noting_copy)
        patched.setattr(torch.Tensor, "is_cuda", True, raising=False)
        found = [task.states for task in ResidentSet(train, CPU).tasks]
    assert all(map(torch.equal, found, expected))
    assert sum(pinned) == sum(states.nbytes for states in expected)
    assert max(pinned) <= 2**11
    assert copies == [((), {})] * len(pinned)  # each waits for its end: the pages are another thread's next


def test_every_micro_batch_holds_the_tasks_in_their_shares(tmp_path):
    config = tiny_config(tmp_path, BOTH, "recipe.task_shares=[3, 1]")
    train = open_data(config).train
    schedule, on_device = train.schedule(16, seed=0), ResidentSet(train, CPU)
    first_of_darcy = len(train.tasks[0].table)
    for step in (1, 2, 9):
        for rank in range(2):
            pairs = schedule.micro_batch(step, 1, 2, rank, 2)
            assert (pairs < first_of_darcy).tolist() == [True, True, True, False]
            mapped, resident = train.read(pairs), on_device.read(torch.from_numpy(pairs))
            assert [len(field) for field in mapped.fields] == [3, 1]
            torch.testing.assert_close(resident, mapped, rtol=0, atol=0)


def test_a_pair_is_two_frames_of_one_trajectory_in_normalised_units(tmp_path):
    pairs = open_data(tiny_config(tmp_path)).train.tasks[0]
    chosen = np.array([0, len(pairs.table) - 1])
    batch, units = pairs.read(chosen), pairs.target_units(chosen)
    frames = pairs.files[1].states().take(np.full(2, pairs.table.row[-1]), np.array([3, 5]), 2)
    for field, frame in zip((batch.field, batch.next_field), frames, strict=True):
        np.testing.assert_allclose(physical(field, *units)[1].numpy(), frame, atol=1e-6)


def test_a_pair_of_darcy_leads_from_the_coefficient_to_the_solution(tmp_path):
    pairs = open_data(tiny_config(tmp_path, "data.tasks=[darcy2d]")).train.tasks[0]
    every = np.arange(len(pairs.table))
    batch = pairs.read(every)
    assert (batch.field.shape, batch.next_field.shape) == ((12, 1, 8, 8), (12, 1, 8, 8))
    assert len(batch.field[:6].unique()) == 2
    solution = physical(batch.next_field, *pairs.target_units(every))
    assert solution.min() > 0
    assert solution[6:].mean() > 5 * solution[:6].mean()  # beta 5 against 0.5
    assert batch.next_field[:6].std() == pytest.approx(batch.next_field[6:].std(), rel=0.5)


def test_conditions_tell_dt_parameters_and_tasks_apart(tmp_path):
    both = open_data(tiny_config(tmp_path, BOTH)).train
    advection, darcy = (task.read(np.arange(len(task.table))).condition for task in both.tasks)
    assert len(advection.unique(dim=0)) == 4
    assert len(darcy.unique(dim=0)) == 2
    torch.testing.assert_close(advection.mean(dim=0), torch.tensor([0.0, 0, 0, 1, 0]), atol=1e-5, rtol=0)
    torch.testing.assert_close(darcy.mean(dim=0), torch.tensor([0.0, 0, 0, 0, 1]), atol=1e-5, rtol=0)
    assert darcy[:, :2].eq(0).all()
    assert advection[:, 2].eq(0).all()


def test_a_condition_is_a_logarithm_in_units_of_its_deviation(tmp_path):
    three = ["data.advection1d.betas=[0.1, 1, 10]", "data.frame_strides=[1, 2, 4]"]
    train = open_data(tiny_config(tmp_path, *three)).train.tasks[0]
    conditions = train.read(np.arange(len(train.table))).condition.numpy().reshape(3, 6, 11, -1)
    for found, logs in (
        (conditions[:, 0, 0, 1], np.array([-1, 0, 1])),  # of beta
        (conditions[0, 0, :, 0], np.array([0] * 5 + [1] * 4 + [2] * 2)),  # of dt
    ):
        np.testing.assert_allclose(found, (logs - logs.mean()) / logs.std(), atol=1e-5)


def test_random_numbers_are_uniform_and_do_not_depend_on_the_batch():
    pairs = torch.arange(4000)
    numbers = uniform(1, 7, 3, pairs, 8)
    assert torch.equal(numbers[100:200], uniform(1, 7, 3, pairs[100:200], 8))
    assert not torch.equal(numbers, uniform(2, 7, 3, pairs, 8))
    assert not torch.equal(numbers, uniform(1, 7, 4, pairs, 8))
    share = numbers.flatten().mul(10).long().bincount(minlength=10) / numbers.numel()
    torch.testing.assert_close(share, torch.full((10,), 0.1), atol=0.01, rtol=0)
    assert torch.corrcoef(numbers.T).fill_diagonal_(0).abs().max() < 0.06


@pytest.mark.parametrize(("seed", "step", "same"), [(0, 1, True), (0, 2, False), (1, 1, False)])
def test_queries_and_dropped_blocks_are_drawn_anew_for_each_seed_and_step(tmp_path, seed, step, same):
    sampled = ["recipe.query_strategy=lattice", "recipe.query_points=8"]
    config = tiny_config(tmp_path, "data.tasks=[advection1d, darcy2d]", *sampled)

    def drawn(seed: int, step: int) -> list[torch.Tensor]:
        inputs = build_choices(config, seed).inputs(step, torch.arange(100))
        return [inputs.branch_scale, *inputs.queries]

    equal = list(map(torch.equal, drawn(0, 1), drawn(seed, step)))
    assert equal == [same] * 3


def test_drop_path_keeps_the_mean_and_never_drops_the_first_block(tmp_path):
    choices = build_choices(tiny_config(tmp_path), seed=0)
    scale = choices.branch_scale(1, torch.arange(10000))
    assert scale[0].eq(1).all()
    assert scale[1].eq(0).float().mean().item() == pytest.approx(0.2, abs=0.02)
    assert scale[1].mean().item() == pytest.approx(1, abs=0.02)


def test_each_block_of_a_pair_is_dropped_by_itself(tmp_path):
    choices = build_choices(tiny_config(tmp_path, "model.depth=3", "model.drop_path=0.5"), seed=0)
    _, middle, last = choices.branch_scale(1, torch.arange(10000)).eq(0).float()
    assert (middle * last).mean().item() == pytest.approx(0.25 * 0.5, abs=0.02)
