"""Each module of the trainer can be the first that somebody imports: no circle has a right way round.

And what takes seconds to import is not imported where nothing needs it.
"""

import os
import subprocess
import sys

import pytest
from tiny import ROOT, tiny_file

pytestmark = pytest.mark.slow

# In forks of a process that has the large libraries: 150 new ones would take minutes.
EACH_BY_ITSELF = """
import importlib, os, sys
import h5py, torch, torch._dynamo, triton, yaml
assert "trainer" not in sys.modules
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        os._exit(0)
    if status := os.waitpid(child, 0)[1]:
        print(f"{name}: ended with wait status {status}", flush=True)
"""


def test_each_module_of_the_trainer_can_be_imported_first():
    files = sorted((ROOT / "trainer").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    assert len(names) > 100
    done = subprocess.run(
        [sys.executable, "-c", EACH_BY_ITSELF, *names], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""


# What torch.compile and FSDP2 import, in seconds.
HEAVY = (
    *("torch._dynamo", "torch._inductor", "torch.distributed.fsdp", "torch.distributed.tensor"),
    *("torch.nn.attention.flex_attention", "sympy"),
)
TRAINED = """
import sys
from pathlib import Path
from trainer.config import load_config
from trainer.run.training import Progress, run_training
file, out, *overrides = sys.argv[1:]
run_training(load_config(Path(file), overrides), Path(out), 3, Progress())
"""
AS_THE_RECIPE = (
    *("data_path=resident", "precision=bf16", "muon=batched", "attention=math", "hoist_fixed_grid=true"),
    *("fused_adamw=true", "foreach_ema=true"),
)
CALLED = """
import sys
import torch
from trainer.kernels.pointwise.feed_forward import feed_forward
parts = [torch.ones(shape, requires_grad=True) for shape in ((1, 16, 16), (16, 16), (16,), (16, 16))]
feed_forward(*parts)[0].sum().backward()
"""


def heavy_modules_after(program: str, *arguments: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nprint(*sys.modules)", *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in HEAVY if name in done.stdout.split()]


def test_a_training_as_the_recipe_has_it_imports_neither_compiler_nor_fsdp2(tmp_path):
    speed = [f"speed.{switch}" for switch in (*AS_THE_RECIPE, "wrapper=flat")]
    overrides = ["optimizer.matrices=muon", "recipe.batch_cut_into=2", "train.pairs_per_update=32", *speed]
    arguments = [str(tiny_file(tmp_path)), str(tmp_path / "out"), *overrides]
    assert heavy_modules_after(TRAINED, *arguments) == []


def test_our_kernels_import_no_compiler_when_they_are_called():
    assert heavy_modules_after(CALLED, TRITON_INTERPRET="1", CUDA_VISIBLE_DEVICES="") == []
