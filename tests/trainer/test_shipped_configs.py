"""The configs that are shipped: each is valid, each pair differs only where its experiment allows."""

import pytest
import yaml
from test_learning import a_batch
from tiny import ROOT, tiny_config

from trainer.build import build_choices, build_model, build_objective
from trainer.config import load_config, to_plain
from trainer.config.rules import require_world_fits
from trainer.config.speed_rules import require_device_fits
from trainer.contracts.term import Phase
from trainer.errors import ConfigError

EXPERIMENTS = sorted((ROOT / "configs/experiments").glob("*.yaml"))
MAY_DIFFER = {"same-work": {"speed"}, "recipe": {"speed", "recipe"}, "regression": set()}


def resolved(variant: dict, **further: object) -> dict:
    overrides = [f"{key}={value}" for key, value in {**variant.get("set", {}), **further}.items()]
    return to_plain(load_config(ROOT / variant["config"], overrides))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_variants_differ_only_where_their_experiment_allows(path):
    experiment = yaml.safe_load(path.read_text())
    baseline, optimized = (resolved(experiment["variants"][name]) for name in ("baseline", "optimized"))
    differing = {section for section in baseline if baseline[section] != optimized[section]}
    assert ("speed" in differing) == (experiment["kind"] != "regression")
    assert differing <= MAY_DIFFER[experiment["kind"]]


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_warm_up_launches_change_how_long_they_train_alone(path):
    experiment = yaml.safe_load(path.read_text())
    short = experiment.get("design", {}).get("warm_up_set", {})
    assert set(short) <= {"train.updates", "train.window_updates", "optimizer.warmup_updates"}
    for variant in experiment["variants"].values():
        whole = resolved(variant)
        assert resolved(variant, **short)["train"]["updates"] == short.get(
            "train.updates", whole["train"]["updates"]
        )


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_variants_fit_the_processes_of_their_experiment(path):
    experiment = yaml.safe_load(path.read_text())
    device = "cpu" if path.stem.startswith("smoke") else "cuda"
    for variant in experiment["variants"].values():
        overrides = [f"{key}={value}" for key, value in variant.get("set", {}).items()]
        config = load_config(ROOT / variant["config"], overrides)
        require_world_fits(config, experiment["launch"]["nproc_per_node"])
        require_device_fits(config.speed, device, experiment["launch"]["nproc_per_node"])


@pytest.mark.parametrize("path", sorted((ROOT / "configs/train").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_training_config_is_used_or_for_debugging(path):
    used = {
        variant["config"]
        for experiment in EXPERIMENTS
        for variant in yaml.safe_load(experiment.read_text())["variants"].values()
    }
    assert f"configs/train/{path.name}" in used or path.stem == "debug"
    load_config(path)


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_gpu_works_on_256_pairs_at_a_time_in_the_baseline(processes):
    config = load_config(ROOT / f"configs/train/two-task-{processes}gpu-baseline.yaml")
    assert config.train.pairs_per_update == 256 * processes * config.speed.accumulation_steps
    assert config.speed.precision == "fp16"
    assert config.speed.compile == "off"


@pytest.mark.parametrize("form", ["baseline", "optimized"])
def test_the_operator_alone_takes_the_batch_of_the_public_original(form):
    config = load_config(ROOT / f"configs/train/parity-4gpu-{form}.yaml")
    trajectories, pairs_of_each = 8, config.data.advection1d.frames - 1
    assert config.train.pairs_per_update == 4 * trajectories * pairs_of_each
    assert config.speed.accumulation_steps == 1
    assert config.model.trained == "operator"


OPERATOR_ONLY = [
    "model.trained=operator",
    *(f"loss.{name}=0" for name in ("forward", "spectral", "inverse_encoding", "inverse_decoding")),
    *(f"loss.{name}=0" for name in ("boundary", "conservation", "positivity", "latent_norm", "diversity")),
]


def test_the_operator_alone_is_trained_without_a_decode(tmp_path):
    config = tiny_config(tmp_path, *OPERATOR_ONLY)
    objective = build_objective(build_model(config), config)
    decodes = []
    objective.model.decoder.register_forward_hook(lambda *_: decodes.append(1))
    batch = a_batch(config)
    objective(batch, build_choices(config, 0).inputs(1, batch.pair), Phase()).backward()
    assert not decodes
    assert all(p.grad.abs().max() > 0 for p in objective.model.operator.blocks.parameters())
    assert all(p.grad is None for p in objective.model.decoder.parameters())


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loss.forward=1", r"loss\.forward: got 1\.0, expected 0: model\.trained operator.*loss\.latent"),
        ("loss.latent=0", r"loss\.latent: got 0, expected above 0: model\.trained operator"),
        ("data.tasks=[advection1d, darcy2d]", r"data\.tasks: got darcy2d, which has no latent term"),
    ],
)
def test_the_operator_alone_is_not_trained_by_what_it_lacks(tmp_path, override, message):
    with pytest.raises(ConfigError, match=message):
        tiny_config(tmp_path, *OPERATOR_ONLY, override)
