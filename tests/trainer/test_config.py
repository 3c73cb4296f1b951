"""What a config may say, and what it is told when it may not."""

import json
from pathlib import Path

import pytest
import torch
import yaml
from facts import states
from tiny import ROOT, launch, launch_anew, tiny_config, tiny_file

from trainer.cli import main
from trainer.config import Config, config_hash, load_config, to_plain
from trainer.config.rules import require_world_fits
from trainer.config.schema import LossConfig
from trainer.errors import ConfigError
from trainer.process.ranks import rank_from_environment
from trainer.process.world import open_world


def problem(path: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    return str(caught.value)


def written(folder: Path, text: str, name: str = "config.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def loaded(folder: Path, text: str, *overrides: str) -> Config:
    """With a loss, without which there is nothing to train."""
    return load_config(written(folder, text), ["loss.forward=1", *overrides])


def test_what_a_file_does_not_say_is_the_default(tmp_path):
    assert loaded(tmp_path, "") == Config(loss=LossConfig(forward=1.0))


def test_a_term_without_a_weight_is_not_trained(tmp_path):
    assert "loss: no term trains both operator and decoder" in problem(written(tmp_path, ""))


def test_the_resolved_config_reads_back_as_itself(tmp_path):
    config = tiny_config(tmp_path)
    resolved = written(tmp_path, json.dumps(to_plain(config)), "resolved.json")
    assert load_config(resolved) == config


@pytest.mark.parametrize("text", ["200", "200.0", "2e2"])
def test_a_whole_number_may_be_written_with_a_point_or_an_exponent(tmp_path, text):
    updates = loaded(tmp_path, f"train: {{updates: {text}}}\n").train.updates
    assert (updates, type(updates)) == (200, int)


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_nothing_is_null(tmp_path, text):
    config = loaded(tmp_path, f"optimizer:\n  clip_norm: {text}\n", "recipe.query_points=")
    assert (config.optimizer.clip_norm, config.recipe.query_points) == (None, None)


def test_the_hash_tells_configs_apart_wherever_they_differ(tmp_path):
    changes = [
        [],
        ["data.seed=1"],
        ["model.drop_path=0"],
        ["loss.latent=0.5"],
        ["optimizer.weight_decay=0.1"],
        ["train.updates=8"],
        ["evaluation.batch_pairs=1"],
        ["speed.fused_adamw=true"],
        ["recipe.inverse_every=2"],
    ]
    assert len({config_hash(tiny_config(tmp_path, *change)) for change in changes}) == len(changes)
    assert config_hash(tiny_config(tmp_path)) == config_hash(tiny_config(tmp_path, "train.updates=7"))


def test_an_override_wins_over_the_file(tmp_path):
    assert tiny_config(tmp_path, "train.updates=7", "loss.latent=2e-1").loss.latent == 0.2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trian: {}", "trian: unknown key; did you mean train?"),
        ("train: {updates: 1.5}", "train.updates: got 1.5, expected a whole number at least 1"),
        ("train: {updates: 0}", "train.updates: got 0, expected a whole number at least 1"),
        ("train: {updates: true}", "train.updates: got true, expected a whole number"),
        ("train: {updates: '9'}", 'train.updates: got "9", expected a whole number'),
        (
            "train: {pairs_per_update: 8}",
            "train.pairs_per_update: got 8, expected a whole number at least 16",
        ),
        (
            "train: {checkpoint_every_updates: -1}",
            "train.checkpoint_every_updates: got -1, expected a whole number at least 0",
        ),
        ("loss: {latent: -1}", "loss.latent: got -1, expected a finite number at least 0"),
        ("optimizer: {clip_norm: 0}", "optimizer.clip_norm: got 0, expected a finite number more than 0"),
        ("data: {root: ''}", 'data.root: got "", expected text that is not empty'),
        ("train: 3", "train: got 3, expected a mapping of keys to values"),
        (
            "seed: 1\n---\nseed: 2",
            "line 2: expected a single document in the stream, but found another document;",
        ),
        (
            "optimizer: {learning_rate: 1.0e+300}",
            "optimizer.learning_rate: got 1e+300, expected a number of at most 1e+38",
        ),
        ("optimizer: {learning_rate: .nan}", "optimizer.learning_rate: got NaN, expected a finite number"),
        (
            "optimizer: {learning_rate: .inf}",
            "optimizer.learning_rate: got Infinity, expected a finite number",
        ),
        (
            "optimizer: {ema_decay: -0.1}",
            "optimizer.ema_decay: got -0.1, expected a finite number at least 0 and less than 1",
        ),
        ("speed: {compile: on}", 'speed.compile: got "on", expected one of off, blocks'),
        ("speed: {fused_adamw: yes}", 'speed.fused_adamw: got "yes", expected true or false'),
        ("data: {frame_strides: []}", "data.frame_strides: got [], expected a list with at least one entry"),
        (
            "data: {frame_strides: [1, 2, 1]}",
            "data.frame_strides: got [1, 2, 1], expected each stride only once",
        ),
        (
            "data: {advection1d: {betas: [0.1, x]}}",
            'data.advection1d.betas[1]: got "x", expected a finite number',
        ),
        (
            "data: {advection1d: {betas: [1, 1.0]}}",
            "data.advection1d: got beta 1.0 twice .. once",
        ),
        ("data: {reduced_resolution: 3}", "data.reduced_resolution: got 3, expected a divisor of the 1024"),
        (
            "model: {tokens: 3}",
            "model.tokens: got 3, expected .. 256 grid of advection1d",
        ),
        (
            "{model: {tokens: 1}, loss: {diversity: 1e-4}}",
            "loss.diversity: got 0.0001, expected 0 .. model.tokens",
        ),
        ("data: {tasks: [darcy3d]}", 'data.tasks[0]: got "darcy3d", expected one of'),
        (
            "data: {tasks: [darcy2d, darcy2d]}",
            "data.tasks: got ['darcy2d', 'darcy2d'], expected .. once",
        ),
        (
            "{model: {trained: operator}, loss: {forward: 1}}",
            "loss.forward: got 1.0, expected 0: model.trained operator .. loss.latent",
        ),
        ("recipe: {task_shares: [1, 2]}", "recipe.task_shares: got [1, 2], expected one .. 'advection1d'"),
        (
            "{data: {tasks: [darcy2d]}, loss: {spectral: 0.05}, recipe: {query_points: 2048}}",
            "loss.spectral: got 0.05 .. regular grid .. darcy2d decodes 2048 uniform points .. "
            "recipe.query_points to null or recipe.query_strategy to lattice",
        ),
        (
            "data: {tasks: [darcy2d], reduced_resolution_2d: 3}",
            "data.reduced_resolution_2d: got 3, expected a divisor of the 128 grid points of darcy2d",
        ),
        (
            "model: {decoder_heads: 7}",
            "model.decoder_heads: got 7, expected a divisor of model.decoder_hidden_dim (384)",
        ),
        ("model: {heads: 7}", "model.heads: got 7, expected a divisor of model.hidden_dim (384)"),
        (
            "{loss: {conservation: 1}, recipe: {query_points: 9}}",
            "loss.conservation: got 1.0 .. regular grid",
        ),
        ("loss: {inverse_encoding: 1}", "loss: no term trains .. operator and decoder .. loss.forward"),
        (
            "loss: {latent: 1}",
            "loss: no term trains both operator and decoder",
        ),
        (
            "{data: {tasks: [advection1d, darcy2d]}, loss: {latent: 1, inverse_encoding: 1}}",
            "loss: no term trains both operator and decoder",
        ),
        (
            "{train: {pairs_per_update: 48}, recipe: {batch_cut_into: 2, inverse_every_nth_pair: 16}}",
            "speed.accumulation_steps 1 x recipe.batch_cut_into 2 x recipe.inverse_every_nth_pair 16 = 32",
        ),
        (
            "speed: {accumulation_steps: 3}",
            "speed.accumulation_steps: got 3, expected a divisor of train.pairs",
        ),
        (
            "train: {pairs_per_update: 20}\nrecipe: {inverse_every_nth_pair: 3}",
            "got 20, expected a multiple of",
        ),
        ("data: {root: ~/pdebench}", 'data.root: got "~/pdebench" .. ~ is not expanded'),
        (
            "train: {timeout_seconds: 1e30}",
            "timeout_seconds: got 1e+30, expected a finite number at least 0.001 and less than",
        ),
        (
            "{optimizer: {warmup_updates: 20}, recipe: {schedule_updates: 20}}",
            "recipe.schedule_updates: got 20, expected more than the 20 updates of the warm-up",
        ),
        (
            "{optimizer: {warmup_updates: 9}, recipe: {warmup_updates: 20, schedule_updates: 20}}",
            "recipe.schedule_updates: got 20, expected more than the 20 updates of the warm-up",
        ),
        ("train: {updates: 100}", "optimizer.warmup_updates: got 100, expected less than the 100 updates"),
        (
            "recipe: {average_updates: 0.01}",
            "recipe.average_updates: got 0.01, expected a finite number at least 0.1",
        ),
        (
            "{train: {updates: 120}, recipe: {warmup_updates: 120}}",
            "recipe.warmup_updates: got 120, expected less than the 120 updates",
        ),
        (
            "{train: {updates: 120}, speed: {trace_updates: 111}}",
            "trace_updates: got 111, expected at most 110 of 120 steps .. train 121 steps",
        ),
        (
            "{train: {detect_anomaly: true}, speed: {cuda_graph: true, data_path: resident, muon: batched}}",
            "train.detect_anomaly: got true, expected false with speed.cuda_graph",
        ),
        (
            "{train: {detect_anomaly: true}, speed: {compile: blocks}}",
            "train.detect_anomaly: got true, expected false, or speed.compile off",
        ),
        (
            "{train: {detect_anomaly: true}, speed: {precision: fp16}}",
            "train.detect_anomaly: got true, expected false, or speed.precision fp32 or bf16",
        ),
        (
            "speed: {wrapper: none, muon: sharded}",
            'speed.muon: got "sharded", expected loop or batched: speed.wrapper none',
        ),
        ("a: 1\na: 2", "line 2: key 'a' appears twice"),
        (
            "train:\n\tupdates: 3",
            "line 2: found character '\\t' that cannot start any token; indent with spaces",
        ),
        ("train: [", "line 1"),
        ("train: {updates: !!float x}", "tag, such as !!float (could not .. remove the tag"),
        ("train: {updates: !!bool x}", "tag, such as !!float ('x'); remove the tag"),
        ("train: {updates: !!timestamp x}", "tag, such as !!float .. remove the tag"),
        ("train: [\n", "line 2: expected the node content, but found '<stream end>'; fix the YAML"),
        (f"train: {{updates: {10**15}}}", "expected a number of at most 15 digits"),
        ("train: {updates: 1e19}", "train.updates: got 1e+19, expected a number of at most 15 digits"),
        (f"optimizer: {{learning_rate: 1{'0' * 400}}}", "expected a number of at most 15 digits"),
        (f"train: {{updates: 1{'0' * 5000}}}", "line 1: a number of 5001 digits; fix the YAML"),
        ("[]", "top level: got [], expected a mapping"),
        ("train: {updates: \x07}", "special characters are not allowed"),
    ],
)
def test_a_bad_value_is_named_with_file_key_and_remedy(tmp_path, text, expected):
    path = written(tmp_path, text)
    message = problem(path)
    assert message.startswith(f"{path}: ")
    assert states(message, expected), message


def test_json_refuses_nan_and_repeated_keys(tmp_path):
    nan = written(tmp_path, '{"train": {"updates": NaN}}', "nan.json")
    twice = written(tmp_path, '{"train": {}, "train": {}}', "twice.json")
    assert "train.updates: got NaN" in problem(nan)
    assert "key 'train' appears twice" in problem(twice)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n"train" 1}', "line 2: Expecting ':' delimiter; fix the JSON"),
        (f'{{"train": 1{"0" * 5000}}}', "; fix the JSON"),
    ],
)
def test_json_that_cannot_be_read_is_named(tmp_path, text, expected):
    path = written(tmp_path, text, "bad.json")
    message = problem(path)
    assert message.startswith(f"{path}: ")
    assert expected in message


def test_a_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"train: \xff")
    assert f"{path}: cannot be read" in problem(path)


def test_one_mistake_is_one_problem(tmp_path):
    text = "speed.accumulation_steps: got 3, expected a divisor of train.pairs_per_update (16)"
    assert problem(tiny_file(tmp_path), "speed.accumulation_steps=3") == f"--set: {text}"


def test_a_pair_lies_within_a_trajectory(tmp_path):
    path, text = tiny_file(tmp_path), "expected less than the 6 frames of advection1d"
    assert f"data.frame_strides: got 6, {text}" in problem(path, "data.frame_strides=[1, 6]")
    load_config(path, ["data.frame_strides=[1, 5]"])
    load_config(path, ["data.tasks=[darcy2d]", "data.frame_strides=[6]"])
    every = "data.held_out_every_nth_frame"
    assert f"{every}: got 6, {text}" in problem(path, f"{every}=6")
    load_config(path, [f"{every}=5"])
    load_config(path, ["data.tasks=[darcy2d]", f"{every}=6"])


@pytest.mark.parametrize("term", ["forward", "spectral"])
def test_either_term_of_the_decoded_prediction_trains_everything(tmp_path, term):
    others = [f"loss.{name}=0" for name in ("forward", "spectral", "latent") if name != term]
    assert getattr(tiny_config(tmp_path, *others).loss, term) > 0


def test_latents_that_move_and_can_be_decoded_train_everything(tmp_path):
    config = tiny_config(tmp_path, "loss.forward=0", "loss.spectral=0")
    assert min(config.loss.latent, config.loss.inverse_encoding) > 0


def test_a_term_that_a_task_does_not_have_asks_nothing_of_its_points(tmp_path):
    sparse = ["recipe.query_points=9", "loss.spectral=0"]
    with pytest.raises(ConfigError, match=r"loss\.conservation: got 0\.0001.*regular grid"):
        tiny_config(tmp_path, *sparse)
    assert tiny_config(tmp_path, "data.tasks=[darcy2d]", *sparse, "loss.boundary=0").loss.conservation > 0


def test_a_missing_file_is_named(tmp_path):
    assert f"{tmp_path / 'absent.yaml'}: cannot be read" in problem(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    "override", ["train.updates", "=3", "train..updates=3", "train.updates.more=3", "train.updates.a.b=3"]
)
def test_a_malformed_override_is_named(tmp_path, override):
    assert f'--set: got "{override}"' in problem(tiny_file(tmp_path), override)


def test_a_batch_that_the_ranks_cannot_share_is_refused(tmp_path):
    config = tiny_config(tmp_path, "speed.accumulation_steps=4")
    require_world_fits(config, 4)
    with pytest.raises(ConfigError, match="got 16, expected a multiple of world size 3 x"):
        require_world_fits(config, 3)


def test_ranks_that_would_not_average_gradients_are_refused(tmp_path):
    config = tiny_config(tmp_path, "speed.wrapper=none")
    require_world_fits(config, 1)
    with pytest.raises(
        ConfigError, match=r'speed\.wrapper: got "none", expected ddp, flat or fsdp2: 2 ranks'
    ):
        require_world_fits(config, 2)


def test_one_rank_without_a_wrapper_may_batch_its_matrices(tmp_path):
    batched = ["optimizer.matrices=muon", "speed.muon=batched", "speed.wrapper=none"]
    assert tiny_config(tmp_path, *batched).speed.muon == "batched"


def test_more_ranks_than_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "1")):
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"--nproc-per-node: local rank 1 .* at most 1,"), open_world(60):
        pass


@pytest.mark.parametrize(
    ("rank", "size", "local_rank"), [(2, 2, 0), (1, 1, 1), (-1, 2, 0), (0, 0, 0), (1, 2, -1)]
)
def test_a_rank_that_cannot_be_is_refused_before_it_waits_for_the_others(monkeypatch, rank, size, local_rank):
    for name, value in (("RANK", rank), ("WORLD_SIZE", size), ("LOCAL_RANK", local_rank)):
        monkeypatch.setenv(name, str(value))
    got = f"environment: got RANK {rank}, WORLD_SIZE {size} and LOCAL_RANK {local_rank}, expected RANK below "
    with pytest.raises(ConfigError, match=rf"^{got}WORLD_SIZE .* torchrun, or unset RANK"):
        rank_from_environment()


@pytest.mark.slow
def test_the_command_prints_every_problem_and_exits_2(tmp_path):
    path = written(tmp_path, "train: {updates: 0}\nmodle: {}\n")
    done = launch(["validate-config", "--config", str(path), "--json"], processes=1)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 2
    assert done.stdout == ""


@pytest.mark.slow
def test_the_command_prints_the_whole_config_without_torch(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('validate-config must not need torch')")
    done = launch_anew(
        ["validate-config", "--config", str(tiny_file(tmp_path)), "--json"],
        processes=1,
        PYTHONPATH=str(tmp_path),
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == to_plain(tiny_config(tmp_path))


@pytest.mark.parametrize("seed", ["-1", "1.5", "x"])
def test_a_bad_seed_is_named(tmp_path, capsys, seed):
    with pytest.raises(SystemExit) as ended:
        main(["train", "--config", str(tiny_file(tmp_path)), "--out", str(tmp_path), f"--seed={seed}"])
    assert ended.value.code == 2
    assert f'--seed: got "{seed}", expected a whole number from 0 to ' in capsys.readouterr().err


def test_the_smoke_variants_differ_only_in_speed():
    baseline, optimized = (
        yaml.safe_load((ROOT / f"configs/train/smoke-{name}.yaml").read_text())
        for name in ("baseline", "optimized")
    )
    assert baseline.pop("speed") != optimized.pop("speed")
    assert baseline == optimized


def test_a_bad_override_is_not_blamed_on_the_file(tmp_path):
    path = written(tmp_path, "train:\n  updates: 0\n")
    with pytest.raises(ConfigError) as caught:
        load_config(
            path, ["optimizer.learning_rate=-1", "data.advection1d={trajectories: 0}", "data.tasks=[1]"]
        )
    assert sorted(text.split(": got")[0] for text in caught.value.problems) == [
        "--set: data.advection1d.trajectories",
        "--set: data.tasks[0]",
        "--set: optimizer.learning_rate",
        f"{path}: train.updates",
    ]


@pytest.mark.parametrize(
    ("text", "override", "expected"),
    [
        ("{}", "dat.tasks=[]", "--set: dat: unknown key; did you mean data?"),
        ("{}", "speed.foo.bar=1", "--set: speed.foo: unknown key; known keys: "),
        ("{}", "train.updates=50", "--set: optimizer.warmup_updates: got 100, expected less than the 50"),
        ("{dat: {seed: 1}}", "dat.tasks=[]", "bad.yaml: dat: unknown key; did you mean data?"),
        ("{model: {heads: 7}}", "train.updates=500", "bad.yaml: model.heads: got 7"),
    ],
)
def test_an_override_is_blamed_for_what_the_file_is_without(tmp_path, text, override, expected):
    assert expected in problem(written(tmp_path, text, "bad.yaml"), override)
