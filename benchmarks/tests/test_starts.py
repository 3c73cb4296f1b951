"""The benchmark that starts a training in several source trees in turn."""

import json
import sys
from pathlib import Path

import pytest
from tiny import ROOT, tiny_file

from benchmarks.speed import starts


def run(monkeypatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["starts", *map(str, arguments)])
    return starts.main()


def a_start(**phases: float) -> str:
    events = [{"event": "phase", "name": name, "seconds": seconds} for name, seconds in phases.items()]
    return "".join(f"{json.dumps(event)}\n" for event in [*events, {"event": "steps"}])


def a_tree(folder: Path) -> Path:
    """One whose trainer tells where it is, in the order of the launches."""
    (folder / "trainer").mkdir(parents=True)
    (folder / "trainer/__init__.py").touch()
    (folder / "trainer/__main__.py").write_text(f"""
import pathlib, sys
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
out.mkdir(parents=True)
with open({str(folder.parent / "launches.txt")!r}, "a") as launches:
    print({folder.name!r}, file=launches)
(out / "metrics.jsonl").write_text({a_start(data=1.0)!r})
""")
    return folder


def test_trees_take_turns_and_none_is_always_the_first():
    assert list(starts.launches(2, 2)) == [(1, 0), (2, 0), (2, 1), (1, 1), (1, 2), (2, 2)]


def test_what_is_started_is_the_trainer_of_the_tree_and_what_is_kept_is_not_started_again(
    tmp_path, monkeypatch, capsys
):
    trees = [a_tree(tmp_path / name) for name in ("one", "two")]
    call = [*trees, "--out", tmp_path / "out", "--config", tiny_file(tmp_path)]
    assert run(monkeypatch, *call, "--starts", 1) == 0
    assert run(monkeypatch, *call, "--starts", 2) == 0
    launched = (tmp_path / "launches.txt").read_text().split()
    assert launched == ["one", "two", "two", "one", "one", "two"]
    assert "| 2 | 2 | 0.00 s (0.00 to 0.00) | 1.00 s (1.00 to 1.00) |" in capsys.readouterr().out


def test_the_table_has_medians_and_paired_differences_of_all_but_the_first(tmp_path):
    seconds = {1: [90.0, 5.0, 7.0, 6.0], 2: [80.0, 4.0, 5.0, 5.0]}
    for tree, of_tree in seconds.items():
        for start, build in enumerate(of_tree):
            (tmp_path / f"{tree}-{start}.jsonl").write_text(
                a_start(build=build, capture=1.0, checkpoint=50.0)
            )
    _, _, first, second = starts.table(tmp_path).splitlines()
    assert "| 6.00 s (5.00 to 7.00) | 1.00 s (1.00 to 1.00) | 7.00 s (6.00 to 8.00) |  |" in first
    assert (
        "| 5.00 s (4.00 to 5.00) | 1.00 s (1.00 to 1.00) | 6.00 s (5.00 to 6.00) | 1.00 s (1.00 to 2.00) |"
        in second
    )


@pytest.mark.parametrize("changed", ["training", "sources"])
def test_starts_of_another_question_are_not_taken_for_these(tmp_path, monkeypatch, capsys, changed):
    tree = a_tree(tmp_path / "one")
    call = [tree, "--out", tmp_path / "out", "--config", tiny_file(tmp_path), "--starts", 1]
    assert run(monkeypatch, *call) == 0
    if changed == "sources":
        (tree / "trainer/more.py").touch()
    further = ["--set", "train.updates=3"] if changed == "training" else []
    told = {"training": "has starts with config ", "sources": "has starts with sources of tree 1 "}[changed]
    with pytest.raises(SystemExit):
        run(monkeypatch, *call, *further)
    assert told in capsys.readouterr().err


def test_a_line_that_is_half_written_is_not_read(tmp_path):
    (tmp_path / "1-1.jsonl").write_text(a_start(build=2.0) + '{"event": "pha')
    assert "| 2.00 s (2.00 to 2.00) |" in starts.table(tmp_path)


def test_the_table_that_is_told_is_that_of_its_records():
    told = (ROOT / "benchmarks/records/starts/README.md").read_text()
    assert starts.table(ROOT / "out/records/starts/h100-2gpu") in told
