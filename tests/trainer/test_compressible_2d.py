"""Starts of the two-dimensional compressible tasks, and which of their files belongs to which."""

import numpy as np
import pytest
from tiny import ensure_files
from tiny_tasks import task_config

from trainer.data.files.sources import open_files
from trainer.data.physics_scores import GAMMA
from trainer.data.tasks import TASKS, cfd2d_rand, cfd2d_turb


def starts(task, mach: float) -> np.ndarray:
    return task.draw(np.random.default_rng(0), 5, 32, mach)


def mach_of(fields: np.ndarray) -> np.ndarray:
    speed = np.sqrt(np.square(fields[:, 2:]).sum(axis=1).mean(axis=(1, 2)))
    return speed / np.sqrt(GAMMA * (fields[:, 1] / fields[:, 0]).mean(axis=(1, 2)))


@pytest.mark.parametrize("mach", [0.1, 1.0])
def test_turbulence_starts_at_its_mach_number_in_gas_of_one_density_and_pressure(mach):
    fields = starts(cfd2d_turb, mach)
    np.testing.assert_allclose(mach_of(fields), mach, rtol=1e-9)
    assert np.ptp(fields[:, :2], axis=(2, 3)).max() < 1e-12
    x, y = fields[:, 2], fields[:, 3]
    divergence = np.roll(x, -1, 1) - np.roll(x, 1, 1) + np.roll(y, -1, 2) - np.roll(y, 1, 2)
    assert np.abs(divergence).max() < 1e-12
    assert np.abs(fields[:, 2:].mean(axis=(2, 3))).max() < 1e-12


@pytest.mark.parametrize("mach", [0.1, 1.0])
def test_random_waves_start_near_their_mach_number_with_all_fields_positive(mach):
    fields = starts(cfd2d_rand, mach)
    assert (np.abs(np.log(mach_of(fields) / mach)) < 1).all()
    assert fields[:, :2].min() > 0
    waves = np.ptp(fields, axis=(2, 3)) / fields.mean(axis=(2, 3))
    assert (np.abs(waves) > 0.02).all()


@pytest.mark.parametrize(("name", "task"), [("Rand", "cfd2d_rand"), ("Turb", "cfd2d_turb")])
def test_files_of_one_layout_belong_to_the_task_of_their_name(tmp_path, name, task):
    made = ensure_files(task_config(tmp_path, task).data)
    own = tmp_path / "own"
    own.mkdir()
    for number, path in enumerate(made):
        (own / f"2D_CFD_{name}_M0.5_Eta0.01_Zeta0.01_periodic_128_{number}.hdf5").write_bytes(
            path.read_bytes()
        )
    other = "cfd2d_turb" if task == "cfd2d_rand" else "cfd2d_rand"
    both = task_config(tmp_path, task, f"data.root={own}")
    found = open_files(both.data)
    assert [file.path.parent for file in found[task]] == [own] * len(made)
    of_other = open_files(task_config(tmp_path, other, f"data.root={own}").data)[other]
    assert all(file.path.parent != own for file in of_other)  # generated


def test_the_two_tasks_differ_by_more_than_their_name():
    assert TASKS["cfd2d_rand"].files != TASKS["cfd2d_turb"].files
    rand, turb = (starts(task, 1.0) for task in (cfd2d_rand, cfd2d_turb))
    assert np.ptp(rand[:, 0], axis=(1, 2)).min() > 0.05 > np.ptp(turb[:, 0], axis=(1, 2)).max()
