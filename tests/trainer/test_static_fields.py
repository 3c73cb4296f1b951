"""Static fields: given with every state of their trajectory, in units of their own, and never asked for."""

import h5py
import numpy as np
import pytest
import torch
from tiny import ensure_files
from tiny_tasks import task_config

from trainer.build import build_choices, build_model, build_objective
from trainer.contracts.term import Phase
from trainer.data.splits import open_data
from trainer.errors import ConfigError
from trainer.process.world import World
from trainer.run.evaluation.rollouts import Rollouts

TASK = "navier_stokes2d"


@pytest.fixture
def config(tmp_path):
    made = task_config(tmp_path, TASK)
    ensure_files(made.data)
    return made


def test_each_pair_is_given_the_force_of_its_trajectory(config):
    train = open_data(config).train.tasks[0]
    (path,) = [file.path for file in train.files]
    with h5py.File(path) as file:
        force = np.moveaxis(file["force"][:], -1, 1)[train.table.row]
    units, pairs = train.normalisation.statics, np.arange(len(train.table))
    field = train.read(pairs).field[:, 3:].numpy()
    expected = force[pairs // train.table.pairs_per_trajectory]
    physical = field / units.scale[0][:, None, None] + units.mean[0][:, None, None]
    np.testing.assert_allclose(physical, expected, atol=1e-5)
    np.testing.assert_allclose(field.std(axis=(0, 2, 3)), 1, rtol=1e-3)


def test_a_checkpoint_holds_their_units(config):
    plain = open_data(config).train.normalisation[TASK]
    assert np.shape(plain["statics_mean"]) == np.shape(plain["statics_scale"]) == (1, 2)


def test_no_number_is_accepted_that_is_none(config):
    (path,) = ensure_files(config.data)
    with h5py.File(path, "r+") as file:
        file["force"][2, 3, 4, 0] = np.nan
    with pytest.raises(ConfigError, match=r"force_x, force_y: trajectory 2 holds NaN"):
        open_data(config)


@pytest.mark.parametrize("decodes_jointly", [False, True])
def test_losses_compare_what_is_asked_for_and_rebuild_what_is_given(config, decodes_jointly):
    train = open_data(config).train
    objective = build_objective(build_model(config), config)
    objective.tasks[0].decodes_jointly = decodes_jointly
    pairs = torch.arange(4)
    batch = train.read(pairs.numpy())
    terms = objective.weighted_terms(batch, build_choices(config, 0).inputs(1, pairs), Phase())
    assert {"forward", "spectral", "latent", "inverse_encoding", "inverse_decoding"} <= set(terms)
    sum(terms.values()).backward()
    heads = objective.model.decoder.heads
    assert {name: head.out_features for name, head in heads.items()} == {TASK: 3, f"{TASK}_given": 5}
    assert all(head.weight.grad.abs().max() > 0 for head in heads.values())


def test_a_rollout_is_given_the_force_at_every_step(config):
    pairs = open_data(config).held_out.tasks[0]
    seen = []

    class Still(torch.nn.Module):
        def forward(self, task: str, field: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
            seen.append(field[:, 3:].clone())
            return field[:, :3]

    rollouts = Rollouts(pairs, 1, World(0, 1, torch.device("cpu")), 8)
    found = rollouts.errors(Still())
    assert len(seen) == 2
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[0], torch.from_numpy(pairs.statics[rollouts.mine]))
    assert found[f"physics_mass/{TASK}"] < 1e-5
