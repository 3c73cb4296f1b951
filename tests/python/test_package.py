"""The package as it is published."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import speedproof
import torch
from recorded import PRELUDE, events_of, step_counts

ROOT = Path(__file__).parents[2]


def test_has_the_version_of_the_npm_package() -> None:
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert speedproof.__version__ == version
    assert f'version = "{version}"\n' in (ROOT / "python/pyproject.toml").read_text()


@pytest.mark.slow
def test_wheel_records_in_a_clean_environment(tmp_path: Path) -> None:
    """Torch is seen through a path file; nothing is downloaded."""

    def run(*words: object, **more: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [str(word) for word in words],
            env={**environment, **more},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    source = tmp_path / "source"
    run("cp", "-r", ROOT / "python", source)

    def build(kind: str, folder: Path) -> None:
        command = f"import setuptools.build_meta as b; b.build_{kind}('{tmp_path}')"
        done = subprocess.run([sys.executable, "-c", command], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    # The wheel comes from the source archive, as in a release, so the archive is whole.
    build("sdist", source)
    [archive] = tmp_path.glob("speedproof-*.tar.gz")
    run("tar", "xzf", archive)
    build("wheel", tmp_path / archive.name.removesuffix(".tar.gz"))
    [wheel] = tmp_path.glob("speedproof-*-py3-none-any.whl")

    clean = tmp_path / "clean"
    run(sys.executable, "-m", "venv", "--without-pip", clean)
    python = clean / "bin/python"
    [site] = clean.glob("lib/python*/site-packages")
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel)
    (site / "torch.pth").write_text(str(Path(torch.__file__).parents[1]))
    (tmp_path / "script.py").write_text(
        f"{PRELUDE}\nm = model(); o = torch.optim.SGD(m.parameters(), 0.1)\n"
        "for _ in range(21):\n    loss(m).backward(); o.step(); o.zero_grad()\n"
    )
    run(python, "-m", "speedproof.record", "--out", "out", "script.py")
    assert step_counts(events_of(tmp_path / "out")) == (21, 0)

    asked = (
        "from importlib.metadata import entry_points;"
        "[found] = entry_points(group='lightning.pytorch.callbacks_factory');"
        "print(found.load()(), found.dist.version)"
    )
    assert run(python, "-c", asked).split() == ["[]", speedproof.__version__]
    assert (site / "speedproof/py.typed").exists()
