"""docs/trainer.md names every switch, what it reads back as, and tests that are there."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest
from tiny import ROOT, events, tiny_config

from benchmarks.gpu_check.cases import cases
from trainer.config.schema import RecipeConfig, SpeedConfig
from trainer.run.training import Progress, run_training

PAGE = ROOT / "docs/trainer.md"
NOT_OF_A_SWITCH = {"detect_anomaly"}  # of train.detect_anomaly, which slows down and is no variant's


def table(name: str) -> dict[str, list[list[str]]]:
    """Return what stands in backticks in each cell, by the key of its row."""
    text = PAGE.read_text().split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]
    rows = [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    return {key[0]: cells for key, *cells in filter(None, rows) if key}


@pytest.mark.parametrize(("name", "section"), [("speed", SpeedConfig), ("recipe", RecipeConfig)])
def test_every_key_has_its_row(name, section):
    assert sorted(table(name)) == sorted(field.name for field in fields(section))


@pytest.mark.slow
def test_every_read_back_of_a_run_has_its_switch(tmp_path):
    run_training(tiny_config(tmp_path, "train.updates=3"), tmp_path, 3, Progress())
    reported = set(events(tmp_path, "run_start")[0]["effective"]) - NOT_OF_A_SWITCH
    tables = [*table("speed").values(), *table("recipe").values()]
    named = {name for read_back, *_ in tables for name in read_back}
    assert named == reported | {"fallback/<switch>"}


@pytest.mark.parametrize("name", ["speed", "recipe"])
def test_every_evidence_is_there(name):
    of_gpus = {case.name for case in cases("cuda")}
    for key, cells in table(name).items():
        assert all(cells[1:]), f"{key} lacks a test"
        for named in (text for cell in cells[1:] for text in cell):
            file, _, test = named.partition("::")
            assert test in functions(ROOT / "tests/trainer" / file) if test else named in of_gpus, named


@pytest.mark.parametrize("processes", [1, 2])
def test_every_switch_that_changes_an_update_has_a_case_on_gpus(processes):
    of_several_ranks = {"nccl", "reduce_gradients"} if processes == 1 else set()
    set_there = {
        override.removeprefix("speed.").split("=")[0]
        for case in cases("cuda")
        if case.processes == processes
        for override in case.overrides
    }
    without = {"async_checkpoint", "on_failure", "loader_prefetch"}
    assert set(table("speed")) - set_there == without | of_several_ranks


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_case_on_gpus_comes_after_the_one_that_it_should_repeat(device):
    names = [case.name for case in cases(device)]
    late = [c.name for c in cases(device) if c.against and c.against not in names[: names.index(c.name)]]
    assert late == []


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
