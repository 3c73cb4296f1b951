"""What README and docs say of several gates together is what the recorded metrics give."""

from pathlib import Path

from benchmarks import gate_figures

ROOT = Path(__file__).parents[2]


def said(page: str) -> str:
    return " ".join((ROOT / page).read_text().split())


def test_the_pages_have_the_figures_that_the_records_give(capsys):
    gate_figures.main()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    found = {cells[0].removeprefix("| "): [cell.removesuffix(" |") for cell in cells[1:]] for cells in rows}
    docs, readme = said("docs/training-optimizations.md"), said("README.md")
    for page in (docs, readme, said("benchmarks/gate/README.md")):
        for error in ("nrmse", "nrmse/advection1d"):
            assert found[error][0] in page
        assert found["nrmse/advection1d"][1] in page
    assert found["nrmse/darcy2d"][0] in docs
    fastest = [found[gate][0].split("x ")[0] for gate in gate_figures.SAME_WORK]
    assert f"| {' | '.join(f'{float(one):.2f}x' for one in fastest)} |" in docs


def test_a_seed_counts_once_however_many_gates_have_it():
    assert len(gate_figures.by_seed(gate_figures.SAME_WORK, "nrmse")) == 8
    sharing = ["two-task-1gpu", "two-task-4gpu"]
    one, other = (gate_figures.by_seed([gate], "nrmse") for gate in sharing)
    both = gate_figures.by_seed(sharing, "nrmse")
    assert both == [(a + b) / 2 for a, b in zip(one, other, strict=True)]
