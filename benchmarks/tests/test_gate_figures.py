"""What README and docs say of several gates together is what the recorded metrics give."""

import sys
from pathlib import Path

import pytest

from benchmarks.speed import gate_figures
from trainer.errors import ConfigError

ROOT = Path(__file__).parents[2]


def said(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


def test_the_pages_have_the_figures_that_the_records_give(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gate_figures"])
    gate_figures.main()
    lines = capsys.readouterr().out.splitlines()
    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines if line]
    by_block = {(error, gates): block for error, gates, block, _ in (row for row in rows if len(row) == 4)}
    by_seed = {(error, gates): seed for error, gates, _, seed in (row for row in rows if len(row) == 4)}
    advection = "nrmse/advection1d"
    docs = said("benchmarks/records/laboratory.md")
    assert by_block["nrmse", "all"] in said("docs/results.md")
    for page in (docs, said("benchmarks/records/gate/README.md")):
        for error, gates in (("nrmse", "all"), (advection, "all"), (advection, "without H100")):
            assert by_block[error, gates] in page
        assert by_seed[advection, "all"] in page
        assert by_block[advection, "that share four seeds"] in page
    assert by_block["nrmse/darcy2d", "all"] in docs
    assert by_block[advection, "with a head in float32"] in docs
    speedups = dict(row for row in rows if len(row) == 2)
    utilisation = {row[0]: row[2:] for row in rows if len(row) == 4 and row[0] in gate_figures.SAME_WORK}
    ours = [measured for measured, _ in utilisation.values()]
    assert f"| FLOP utilisation | {' | '.join(ours)} |" in docs
    fastest = [speedups[gate].split("x ")[0] for gate in gate_figures.SAME_WORK]
    assert f"| {' | '.join(f'{float(one):.2f}x' for one in fastest)} |" in docs


def test_a_seed_counts_once_however_many_gates_have_it():
    assert len(gate_figures.by_seed(gate_figures.SAME_WORK, "nrmse")) == 8
    sharing = ["two-task-1gpu", "two-task-4gpu"]
    one, other = (gate_figures.by_seed([gate], "nrmse") for gate in sharing)
    both = gate_figures.by_seed(sharing, "nrmse")
    assert both == [(a + b) / 2 for a, b in zip(one, other, strict=True)]


def test_a_record_that_is_cut_is_refused_with_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(gate_figures, "GATES", tmp_path)
    run = tmp_path / "cut/runs/03-block-1-baseline"
    run.mkdir(parents=True)
    (run / "metrics.jsonl").write_text('{"event": "run_start", "seed": 1}\n')
    with pytest.raises(ConfigError, match=r"03-block-1-baseline: has no metrics with a run_end"):
        gate_figures.blocks("cut")
    (run / "metrics.jsonl").write_text('{"event": "run_start", "seed": 1}\n{"event": "run_end"}\n')
    with pytest.raises(ConfigError, match="block 1 has no metrics of its optimized run"):
        gate_figures.blocks("cut")
