"""A new task or term is one file, a new switch a folder: a copy of the trainer with one more of each runs."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from forked import python
from tiny import ROOT, events, tiny_file, train_losses

from trainer.data.layouts.scalar_1d import write_scalar_1d

pytestmark = pytest.mark.slow

DECAY = '''
"""u_t = -rate u."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer.data.layouts.scalar_1d import write_scalar_1d
from trainer.contracts.task import Task


@dataclass(frozen=True)
class DecayConfig:
    rates: tuple[float, ...] = (0.5, 1.0)
    trajectories: int = 8
    frames: int = 6

    @property
    def cases(self) -> tuple[tuple[float], ...]:
        return tuple((rate,) for rate in self.rates)

    @property
    def grid(self) -> tuple[int]:
        return (32,)

    def problems(self) -> Iterator[tuple[str, str]]:
        if min(self.rates, default=0) < 0:
            yield "rates", "got one below 0"


def generate(config: DecayConfig, seed: int, case: int) -> np.ndarray:
    start = np.random.default_rng([seed, case]).standard_normal((config.trajectories, 1, 32))
    time = np.arange(config.frames)[:, None] / config.frames
    return (start * np.exp(-config.rates[case] * time)).astype(np.float32)


def write(path: Path, config: DecayConfig, case: int, values: np.ndarray, content_hash: str) -> None:
    x, t = np.arange(32) / 32, np.arange(config.frames) / config.frames
    write_scalar_1d(path, values, x, t, {"rate": config.rates[case]}, content_hash)


TASK = Task(
    name="decay1d",
    settings=DecayConfig,
    layout="scalar-1d",
    parameters=("rate",),
    state=("u",),
    target=("u",),
    solver_version=1,
    generate=generate,
    write=write,
)
'''

PULL = '''
"""Draws the prediction to 100."""

from trainer.contracts.term import Term

TERM = Term(
    name="pull",
    inputs=("prediction",),
    loss=lambda prediction: (prediction.float() - 100).square().mean(),
    of=lambda task: task.name == "decay1d",
)
'''


HALVED = '''
"""Halves what the operator's blocks add."""

from trainer.errors import Problem
from trainer.contracts.switch import Key, ModelSwitch


def put_on(objective, speed):
    import torch

    if speed.halved:
        with torch.no_grad():
            objective.model.operator.project.weight *= 0.5
        objective.model.operator.halved = True


def read_back(objective, speed, dtype):
    return {"halved": getattr(objective.model.operator, "halved", False)}


def broken_rules(speed, model):
    if speed.halved and speed.wrapper == "fsdp2":
        yield Problem("speed.halved", "got true, but fsdp2 has parts alone")


SWITCH = ModelSwitch(
    keys={"halved": Key(bool, off=False)},
    order=5,
    put_on=put_on,
    read_back=read_back,
    broken_rules=broken_rules,
    may_fail=True,
)
'''


@pytest.fixture(scope="module")
def with_decay(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "trainer", folder / "trainer")
    (folder / "trainer/data/tasks/decay1d.py").write_text(DECAY)
    (folder / "trainer/losses/terms/pull.py").write_text(PULL)
    (folder / "trainer/switches/model/halved").mkdir()
    (folder / "trainer/switches/model/halved/__init__.py").write_text(HALVED)
    return folder


def run(copy: Path, command: list[str], out: Path, *overrides: str) -> subprocess.CompletedProcess:
    sets = [part for text in overrides for part in ("--set", text)]
    return python(["-m", "trainer", *command, "--config", tiny_file(out), *sets], cwd=copy)


def train(copy: Path, out: Path, *overrides: str) -> subprocess.CompletedProcess:
    return run(copy, ["train", "--out", str(out), "--seed", "3"], out, *overrides)


def test_a_file_more_is_a_task_or_a_term_more(with_decay, tmp_path):
    tasks = ("data.tasks=[decay1d, advection1d]", "data.decay1d.frames=5")
    done = train(with_decay, tmp_path, *tasks, "loss.pull=1")
    assert done.returncode == 0, done.stderr
    metrics = events(tmp_path, "evaluation")[0]["metrics"]
    assert metrics["nrmse/decay1d"] > 0
    assert metrics["nrmse/advection1d"] > 0
    assert train_losses(tmp_path)[0] == pytest.approx(100**2 / 2, rel=0.1)  # on one of two tasks


def test_a_file_more_is_a_switch_more(with_decay, tmp_path):
    losses = {}
    for value in ("false", "true"):
        out = tmp_path / value
        out.mkdir()
        done = train(with_decay, out, f"speed.halved={value}", "speed.on_failure=fallback")
        assert done.returncode == 0, done.stderr
        assert events(out, "run_start")[0]["effective"]["halved"] == (value == "true")
        losses[value] = train_losses(out)[0]
    assert losses["true"] != losses["false"]
    done = run(with_decay, ["validate-config"], tmp_path, "speed.halved=true", "speed.wrapper=fsdp2")
    assert done.returncode == 2
    assert "speed.halved: got true, but fsdp2 has parts alone" in done.stderr


def test_its_own_rules_are_heard(with_decay, tmp_path):
    done = run(with_decay, ["validate-config"], tmp_path, "data.tasks=[decay1d]", "data.decay1d.rates=[-1]")
    assert done.returncode == 2
    assert "data.decay1d.rates: got one below 0" in done.stderr


def test_files_of_one_layout_belong_to_the_task_whose_parameters_they_have(with_decay, tmp_path):
    (tmp_path / "data").mkdir()
    random = np.random.default_rng(0)
    for rate in (0.5, 1.0):
        path = tmp_path / f"data/{rate}.hdf5"
        values = random.standard_normal((8, 6, 32)).astype(np.float32)
        write_scalar_1d(path, values, np.arange(32) / 32, np.arange(6) / 6, {"rate": rate}, "")
    done = run(with_decay, ["generate-data"], tmp_path, "data.tasks=[decay1d, advection1d]")
    assert done.returncode == 0, done.stderr
    assert re.search(r"advection1d: no files in .*, generating file 1 of", done.stderr)
    assert "decay1d: no files in" not in done.stderr


def another_copy(folder: Path, name: str, task: str) -> Path:
    """A copy of the trainer that has one more task, with what `run` needs."""
    shutil.copytree(ROOT / "trainer", folder / "trainer")
    (folder / f"trainer/data/tasks/{name}.py").write_text(task)
    return folder


def test_a_file_belongs_to_the_task_that_knows_most_of_its_parameters(tmp_path):
    two = DECAY.replace('("rate",)', '("beta", "rate")').replace("((rate,) for", "((1.0, rate) for")
    copy = another_copy(tmp_path / "copy", "decay1d", two)
    (tmp_path / "data").mkdir()
    for rate in (0.5, 1.0):
        path, values = tmp_path / f"data/{rate}.hdf5", np.ones((8, 6, 32), dtype=np.float32)
        values *= np.arange(1, 9, dtype=np.float32)[:, None, None]
        write_scalar_1d(path, values, np.arange(32) / 32, np.arange(6) / 6, {"beta": 1.0, "rate": rate}, "")
    done = run(copy, ["generate-data"], tmp_path, "data.tasks=[decay1d, advection1d]")
    assert done.returncode == 0, done.stderr
    assert re.search(r"advection1d: no files in .*, generating file 1 of", done.stderr)
    assert "decay1d: no files in" not in done.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('{"rate":', '{"Rate":'), "discarded, .*attribute rate: expected a single number"),
        (("config.rates[case]}", "config.rates[case] + 1}"), "has rate 1.5, expected rate 0.5"),
        (("return (start", "return (np.nan * start"), r"rate0\.5 have NaN .* trainer/data/tasks/decay1d\.py"),
        (
            ('state=("u",)', 'state=("u", "v")'),
            "layout scalar-1d has the fields u, but decay1d has u, v",
        ),
        (
            ("    generate=generate,\n    write=write,\n", ""),
            "data.decay1d: .*/data has no file .* no generator. Put",
        ),
    ],
)
def test_data_that_a_new_task_cannot_use_are_named_and_not_kept(tmp_path, change, complaint):
    assert change[0] in DECAY
    copy = another_copy(tmp_path / "copy", "decay1d", DECAY.replace(*change))
    done = run(copy, ["generate-data"], tmp_path, "data.tasks=[decay1d]")
    assert done.returncode == 2, done.stderr
    assert re.search(complaint, done.stderr), done.stderr
    assert not list((tmp_path / "data").glob("decay1d-*/*.hdf5"))


def test_a_task_without_parameters_trains(tmp_path):
    bare = DECAY.replace('("rate",)', "()").replace("tuple((rate,) for rate in self.rates)", "((),)")
    bare = bare.replace('{"rate": config.rates[case]}', "{}")
    copy = another_copy(tmp_path / "copy", "decay1d", bare)
    done = train(copy, tmp_path, "data.tasks=[decay1d]")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("rates", "complaint"),
    [
        ("[0.0, 1.0]", "data.decay1d: got rate 0.0, expected more than 0"),
        ("[]", "data.decay1d: got no case, expected at least one"),
    ],
)
def test_cases_that_no_model_can_be_given_are_refused(with_decay, tmp_path, rates, complaint):
    given = f"data.decay1d.rates={rates}"
    done = run(with_decay, ["validate-config"], tmp_path, "data.tasks=[decay1d]", given)
    assert done.returncode == 2
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("data/tasks/decay1d.py", DECAY.replace('"decay1d"', '"darcy2d"'), "darcy2d.py already uses; rename"),
        ("losses/terms/pull.py", PULL.replace('"pull"', '"forward"'), "forward.py already uses; rename"),
        ("losses/terms/pull.py", PULL.replace("TERM =", "TERMS ="), "has no TERM, expected one"),
        (
            "losses/terms/pull.py",
            PULL.replace('("prediction",)', '("targets",)'),
            '"pull" has the input "targets"',
        ),
        ("losses/terms/_pull.py", "of_others = 1", None),
    ],
)
def test_a_file_that_cannot_be_told_apart_or_used_is_named(tmp_path, file, text, complaint):
    shutil.copytree(ROOT / "trainer", tmp_path / "copy/trainer")
    (tmp_path / "copy/trainer" / file).write_text(text)
    done = train(tmp_path / "copy", tmp_path, "optimizer.warmup_updates=1")
    assert (done.returncode != 0) == (complaint is not None), done.stderr
    if complaint:
        assert complaint in done.stderr
