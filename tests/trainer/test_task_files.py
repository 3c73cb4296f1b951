"""Files that the later tasks generate: PDEBench's layout, read back as real files are, and trained on."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from test_chunked import rewrite
from tiny import ensure_files, events, tiny_config, train_losses
from tiny_tasks import SETTINGS, TRAJECTORIES, task_config

from trainer.build import build_model
from trainer.config import Config
from trainer.config.load import to_plain
from trainer.data.batches.pair_readers import ResidentPairs
from trainer.data.layouts.detect import open_field_file
from trainer.data.splits import open_data
from trainer.data.tasks import TASKS
from trainer.run.training import Progress, run_training

LATER = sorted(SETTINGS)
LARGEST_SCORES = {"divergence": 0.2}  # differences of 16 points in a row; on faces there is none
WITHOUT_LAWS = {"reaction_diffusion2d"}  # nothing is conserved, and both fields have either sign


@pytest.fixture(scope="module", params=LATER)
def generated(request, tmp_path_factory) -> tuple[Config, list[Path]]:
    """Of each task: its config and its files."""
    config = task_config(tmp_path_factory.mktemp(request.param), request.param)
    return config, ensure_files(config.data)


def task_of(config: Config) -> str:
    (task,) = config.data.tasks
    return task


def test_every_later_task_is_tested():
    assert set(SETTINGS) == set(TASKS) - {"advection1d", "darcy2d"}


def test_a_file_is_what_the_task_declares(generated):
    config, paths = generated
    task, settings = TASKS[task_of(config)], getattr(config.data, task_of(config))
    assert len(paths) == len(settings.cases)
    for path, case in zip(paths, settings.cases, strict=True):
        file = open_field_file(path)
        assert (file.layout, file.frames, file.grid) == (task.layout, settings.frames, settings.grid)
        assert (file.trajectories, len(file.fields)) == (TRAJECTORIES, len(task.state))
        assert tuple(file.parameters[name] for name in task.parameters) == case


def test_a_file_reads_back_what_was_generated_to_the_bit_compressed_or_not(generated, tmp_path):
    _, paths = generated
    path = paths[0]
    compressed = rewrite(path, tmp_path / "compressed.hdf5", chunks=True, compression="gzip")
    plain, chunked = open_field_file(path), open_field_file(compressed)
    rows, frames = np.divmod(np.arange(plain.trajectories * plain.frames), plain.frames)
    fields = plain.states().take(rows, frames, 1)
    assert np.isfinite(fields).all()
    np.testing.assert_array_equal(chunked.states().take(rows, frames, 1), fields)


def test_fields_move_and_no_two_trajectories_are_the_same(generated):
    _, paths = generated
    for path in paths:
        file = open_field_file(path)
        every = np.arange(file.trajectories)
        first, last = (file.states().take(every, np.full_like(every, n), 1) for n in (0, file.frames - 1))
        assert (np.abs(last - first).reshape(len(every), -1).max(axis=1) > 1e-6).all()
        assert len(np.unique(last.reshape(len(every), -1), axis=0)) == len(every)


def test_files_of_the_users_own_are_taken_for_the_same_data(generated, tmp_path):
    config, paths = generated
    own = tmp_path / "own"
    own.mkdir()
    name = TASKS[task_of(config)].files or "*"
    for number, path in enumerate(paths):
        rewrite(path, own / f"{number}-{name.replace('*', '_')}.h5")
    moved = task_config(tmp_path, task_of(config), f"data.root={own}")
    assert open_data(moved).content_hash == open_data(config).content_hash
    assert not list(own.glob(f"{task_of(config)}-*"))


def test_pairs_lie_a_stride_of_the_task_apart(generated):
    config, _ = generated
    pairs = open_data(config).train.tasks[0]
    (stride,) = getattr(config.data, task_of(config)).frame_strides
    assert set(pairs.table.stride) == {stride}
    assert config.data.frame_strides == (1, 2)


def test_true_fields_keep_the_laws_that_the_task_is_scored_by(generated):
    config, _ = generated
    task, pairs = TASKS[task_of(config)], open_data(config).held_out.tasks[0]
    assert task.scores or task.name in WITHOUT_LAWS
    file = pairs.files[0]
    every = np.arange(pairs.table.trajectories)
    start, end = (
        torch.from_numpy(pairs.physical_frames(every, np.full_like(every, frame))).double()
        for frame in (0, file.frames - 1)
    )
    spacing = tuple(step * pairs.every for step in file.spacing)
    for score in task.scores:
        assert score.of(start, end, spacing).max() < LARGEST_SCORES.get(score.name, 0.02), score.name


def test_both_data_paths_deliver_the_same_bits(generated):
    config, _ = generated
    train = open_data(config).train.tasks[0]
    pairs = np.arange(len(train.table))[::-1].copy()
    mapped = train.read(pairs)
    resident = ResidentPairs(train, torch.device("cpu")).read(torch.from_numpy(pairs))
    for one, other in zip(mapped, resident, strict=True):
        assert torch.equal(one, other)
    assert mapped.field.shape[1] == len(train.task.given)
    assert mapped.next_field.shape[1] == len(train.task.target)


def test_a_task_can_be_sent_to_another_process(generated):
    config, _ = generated
    train = open_data(config).train.tasks[0]
    again = pickle.loads(pickle.dumps(train))
    assert again.task.name == train.task.name


@pytest.mark.slow
def test_a_training_on_it_lowers_its_loss_and_scores_its_rollouts(generated, tmp_path):
    config, _ = generated
    task = task_of(config)
    sets = [f"data.root={config.data.root}", "train.updates=12", "train.rest=pad"]
    trained = task_config(tmp_path, task, "optimizer.learning_rate=1e-2", *sets)
    run_training(trained, tmp_path, 3, Progress())
    losses = train_losses(tmp_path)
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    metrics = events(tmp_path, "evaluation")[-1]["metrics"]
    for score in TASKS[task].scores:
        assert {f"physics_{score.name}/{task}", f"physics_{score.name}_true/{task}"} <= set(metrics)


@pytest.mark.parametrize("task", LATER)
def test_opposite_borders_have_the_same_features_only_where_fields_go_round(tmp_path, task):
    config = task_config(tmp_path, task)
    model, grid = build_model(config), config.grids[task]
    features = model.decoder.place.features[str(len(grid))]
    ends = torch.zeros(2, len(grid))
    ends[1] = model.places(task).max(dim=0).values * grid[0] / (grid[0] - 1)  # a cell behind the last one
    one, other = features(ends)
    assert torch.allclose(one, other, atol=1e-5) == TASKS[task].wraps_around
    centres = model.decoder.get_buffer(f"centres_{task}")
    assert centres.max() < model.places(task).max()


def test_a_config_without_them_is_written_as_before_there_were_any(tmp_path):
    assert not set(LATER) & set(to_plain(tiny_config(tmp_path))["data"])
    (first, *_) = LATER
    changed = tiny_config(tmp_path, f"data.{first}.trajectories=7")
    assert to_plain(changed)["data"][first]["trajectories"] == 7
