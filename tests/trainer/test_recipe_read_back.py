"""What the recipe asks for is read back from what decides the work of a step."""

from dataclasses import fields

import pytest
import torch
from tiny import tiny_config

from trainer.build import build_choices, build_model, build_objective, build_rates
from trainer.config.schema import RecipeConfig
from trainer.losses.read_back import WORK_KEYS, read_back_recipe
from trainer.losses.terms import TERMS
from trainer.process.world import World
from trainer.run.step.learner import Learner

ALONE = World(rank=0, size=1, device=torch.device("cpu"))

TWO_TASKS = [
    "data.tasks=[advection1d, darcy2d]",
    "train.updates=12",
    "optimizer.warmup_updates=2",
    "loss.spectral=0",
    "loss.conservation=0",
]

CHANGED = {
    "query_points=8": {"decoded_points": "advection1d 8 of 16 uniform, darcy2d 8 of 64 uniform"},
    "query_strategy=lattice": {"decoded_points": "advection1d 8 of 16 lattice, darcy2d 4 of 64 lattice"},
    "inverse_every=4": {"inverse_terms": "1 of 1 pairs, 3 of 12 steps from 4"},
    "inverse_every=24": {"inverse_terms": "1 of 1 pairs, 0 of 12 steps"},
    "inverse_every_nth_pair=2": {"inverse_terms": "1 of 2 pairs, 12 of 12 steps from 1"},
    "priors_every=3": {"prior_terms": "4 of 12 steps from 3"},
    "exploration_updates=5": {
        "inverse_terms": "1 of 1 pairs, 7 of 12 steps from 6",
        "prior_terms": "7 of 12 steps from 6",
    },
    "exploration_updates=12": {
        "inverse_terms": "1 of 1 pairs, 0 of 12 steps",
        "prior_terms": "0 of 12 steps",
    },
    "batch_cut_into=4": {
        "step_pairs": "16 in 48 steps",
        "task_pairs": "advection1d 8 of 16, darcy2d 8 of 16",
        "inverse_terms": "1 of 1 pairs, 48 of 48 steps from 1",
        "prior_terms": "48 of 48 steps from 1",
    },
    "warmup_updates=4": {"learning_rate_warm_up": "largest at update 4"},
    "warmup_updates=0": {"learning_rate_warm_up": "none"},
    "schedule_updates=6": {"learning_rate_schedule": "lowest from update 6 of 12"},
    "schedule_updates=24": {"learning_rate_schedule": "never lowest in 12 updates"},
    "average_updates=2.5": {"ema": "for-loop, evaluated, over 2.5 updates"},
    "task_shares=[3, 1]": {"task_pairs": "advection1d 12 of 16, darcy2d 4 of 16"},
}


def read_back(folder, *overrides: str) -> dict[str, str]:
    config = tiny_config(folder, *TWO_TASKS, *overrides)
    of_steps = read_back_work(config)
    average = Learner(config, 0, ALONE).effective()["ema"]
    return {**of_steps, **build_rates(config).effective(), "ema": average}


def read_back_work(config) -> dict[str, str]:
    return read_back_recipe(
        build_objective(build_model(config), config),
        build_choices(config, 0),
        config.cut,
        config.train.pairs_per_update,
    )


def test_every_key_of_the_recipe_is_here():
    assert {change.split("=")[0] for change in CHANGED} == {field.name for field in fields(RecipeConfig)}


def test_what_is_declared_as_work_is_all_that_a_step_reads_back_of_it(tmp_path):
    assert set(read_back_work(tiny_config(tmp_path, *TWO_TASKS))) == set(WORK_KEYS)


def test_without_a_recipe_it_is_the_whole_work(tmp_path):
    assert read_back(tmp_path) == {
        "learning_rate_warm_up": "largest at update 2",
        "learning_rate_schedule": "lowest from update 12 of 12",
        "task_pairs": "advection1d 8 of 16, darcy2d 8 of 16",
        "decoded_points": "advection1d 16 of 16, darcy2d 64 of 64",
        "inverse_terms": "1 of 1 pairs, 12 of 12 steps from 1",
        "prior_terms": "12 of 12 steps from 1",
        "step_pairs": "16 in 12 steps",
        "ema": "for-loop",
    }


def test_a_short_launch_has_the_warm_up_the_schedule_and_the_average_of_a_whole_one(tmp_path):
    short = ["recipe.warmup_updates=20", "recipe.schedule_updates=30", "recipe.average_updates=40"]
    found = read_back(tmp_path, *short)
    assert found["learning_rate_warm_up"] == "never largest in 12 updates"
    assert found["learning_rate_schedule"] == "never lowest in 12 updates"
    assert found["ema"] == "for-loop, evaluated, over 40 updates"


@pytest.mark.parametrize("change", CHANGED)
def test_each_part_of_it_reads_back_and_nothing_else(tmp_path, change):
    needs = {"query_strategy": "recipe.query_points=8", "batch_cut_into": "train.pairs_per_update=64"}
    needed = [one for key, one in needs.items() if change.startswith(key)]
    before = read_back(tmp_path, *needed)
    assert read_back(tmp_path, *needed, f"recipe.{change}") == {**before, **CHANGED[change]}


def test_a_limit_above_the_grid_changes_nothing(tmp_path):
    assert read_back(tmp_path, "recipe.query_points=64") == read_back(tmp_path)


def test_terms_without_weight_are_none_however_often_they_are_due(tmp_path):
    off = ["loss.inverse_encoding=0", "loss.inverse_decoding=0", "loss.boundary=0", "loss.positivity=0"]
    for often in ([], ["recipe.inverse_every=2", "recipe.priors_every=3"]):
        found = read_back(tmp_path, *off, *often)
        assert (found["inverse_terms"], found["prior_terms"]) == ("none", "none")


def test_without_a_term_that_decodes_nothing_is_decoded(tmp_path):
    off = [f"loss.{name}=0" for name in TERMS if name != "latent"]
    one = ["data.tasks=[advection1d]", "model.trained=operator", "recipe.query_points=8"]
    found = read_back(tmp_path, *off, *one)
    assert (found["decoded_points"], found["prior_terms"]) == ("advection1d none", "none")


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        # Shorter than two warm-ups: a cosine that ran backwards would be at its lowest in the warm-up.
        (["optimizer.warmup_updates=4", "recipe.schedule_updates=6"], "lowest from update 6 of 12"),
        # The recipe's own warm-up, as short as its schedule has to be longer.
        (
            ["optimizer.warmup_updates=9", "recipe.warmup_updates=2", "recipe.schedule_updates=6"],
            "lowest from update 6 of 12",
        ),
    ],
)
def test_the_schedule_reads_back_from_the_update_in_which_its_lowest_rate_begins(tmp_path, sets, told):
    config = tiny_config(tmp_path, "train.updates=12", *sets)
    assert build_rates(config).effective()["learning_rate_schedule"] == told
