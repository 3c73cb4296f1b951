"""Modules of the trainer import each other one way; imports for types alone and in functions count too."""

import ast
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_FILES = 13  # of a folder: more than a newcomer takes in at a glance


def circle_in(root: Path, package: str) -> list[str]:
    """Return the modules of one circle, each imported by the one before it; none where there is no circle."""
    files = {_name(file, root): file for file in (root / package).rglob("*.py")}
    imports = {name: _imported(name, file, files.keys()) for name, file in files.items()}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


def _name(file: Path, root: Path) -> str:
    return ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(name: str, file: Path, known: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports relatively; name the whole module"
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    # Python runs each package on the way to a module; those that hold the importer run already.
    on_the_way = {
        ".".join(parts[:end]) for parts in (n.split(".") for n in found) for end in range(len(parts))
    }
    outside = {package for package in on_the_way if not f"{name}.".startswith(f"{package}.")}
    return ((found | outside) & known) - {name}


def test_no_modules_of_the_trainer_import_each_other_in_a_circle():
    assert circle_in(ROOT, "trainer") == []


@pytest.mark.parametrize(
    "imports",
    [
        "from rooms.second import b",
        "from rooms import second",
        "if TYPE_CHECKING:\n    from rooms.second import b",
        "def f():\n    import rooms.second",
        "class C:\n    def f(self):\n        from rooms.inner.leaf import c",
    ],
)
def test_a_circle_is_found_wherever_it_closes(tmp_path, imports):
    files = {
        "__init__": "",
        "first": imports,
        "second": "from rooms.first import a",
        "inner/__init__": "from rooms.second import b",
        "inner/leaf": "c = 1",
    }
    for name, text in files.items():
        file = tmp_path / "rooms" / f"{name}.py"
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
    assert {"rooms.first", "rooms.second"} <= set(circle_in(tmp_path, "rooms"))
    (tmp_path / "rooms/first.py").write_text("")
    assert circle_in(tmp_path, "rooms") == []


def test_what_tasks_terms_and_switches_keep_to_imports_no_more_than_the_errors():
    for file in (ROOT / "trainer/contracts").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("trainer."):
                assert node.module.startswith("trainer.contracts.") or node.module == "trainer.errors", file


def test_no_folder_of_the_trainer_holds_more_files_than_one_takes_in():
    folders = {file.parent for file in (ROOT / "trainer").rglob("*.py")}
    assert {str(folder): n for folder in folders if (n := len(list(folder.glob("*.py")))) > MOST_FILES} == {}
