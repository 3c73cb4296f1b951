"""Each module of the trainer can be the first that somebody imports: no circle has a right way round."""

import subprocess
import sys

from tiny import ROOT

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
    os.waitpid(child, 0)
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
