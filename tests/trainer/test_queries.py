"""Which points of a grid a step decodes."""

import math

import pytest
import torch

from trainer.losses.queries import QueryPlan

PAIRS = torch.arange(50)


@pytest.mark.parametrize("strategy", ["uniform", "stratified", "lattice"])
@pytest.mark.parametrize("grid", [(16,), (8, 8), (4, 8)])
def test_queries_are_distinct_points_chosen_per_pair_and_step(strategy, grid):
    plan = QueryPlan.of(grid, math.prod(grid) // 4, strategy)
    queries = plan.choose(0, 1, PAIRS)
    assert queries.shape == (50, math.prod(grid) // 4)
    assert all(len(row.unique()) == len(row) for row in queries)
    assert queries.min() >= 0
    assert queries.max() < math.prod(grid)
    assert len(queries.unique(dim=0)) > 3
    assert not torch.equal(queries, plan.choose(0, 2, PAIRS))
    assert torch.equal(queries[10:20], plan.choose(0, 1, PAIRS[10:20]))


def test_every_point_is_as_likely():
    for strategy in ("uniform", "stratified", "lattice"):
        queries = QueryPlan.of((16,), 4, strategy).choose(0, 1, torch.arange(4000))
        share = queries.flatten().bincount(minlength=16) / 4000
        torch.testing.assert_close(share, torch.full((16,), 0.25), atol=0.03, rtol=0)


def test_stratified_queries_lie_one_in_each_cell():
    queries = QueryPlan.of((16,), 4, "stratified").choose(0, 1, PAIRS)
    assert torch.equal(queries // 4, torch.arange(4).expand(50, -1))


def test_stratified_cells_that_cannot_be_alike_leave_no_point_out():
    queries = QueryPlan.of((16,), 5, "stratified").choose(0, 1, torch.arange(4000))
    seen = [queries[:, cell].unique() for cell in range(5)]
    assert torch.cat(seen).tolist() == list(range(16))
    assert {len(cell) for cell in seen} == {3, 4}


SPACINGS = [QueryPlan.of((2 * spacing,), 2, "lattice") for spacing in range(2, 130)]
LATTICES = [QueryPlan.of(grid, math.prod(grid) // 4, "lattice") for grid in [(16,), (8, 8), (12, 12), (4, 8)]]


@pytest.mark.parametrize("plan", [*LATTICES, *SPACINGS, QueryPlan.of((44, 44), 4, "lattice")])
def test_every_lattice_is_one_of_its_positions(plan):
    queries = plan.choose(0, 1, PAIRS)
    assert len(plan.lattices().unique(dim=0)) == plan.positions
    assert torch.equal(plan.lattices()[plan.position(queries)], queries)


def test_a_lattice_is_a_regular_grid_moved_within_its_cell():
    plan = QueryPlan.of((8, 8), 20, "lattice")
    assert (plan.lattice, plan.count) == ((4, 4), 16)
    rows, columns = plan.choose(0, 1, PAIRS).unflatten(1, (4, 4)).div(8, rounding_mode="floor"), None
    columns = plan.choose(0, 1, PAIRS).unflatten(1, (4, 4)) % 8
    assert rows.diff(dim=1).eq(2).all()
    assert columns.diff(dim=2).eq(2).all()
    assert {
        (row, column) for row, column in zip(rows[:, 0, 0].tolist(), columns[:, 0, 0].tolist(), strict=True)
    } == {(row, column) for row in (0, 1) for column in (0, 1)}


@pytest.mark.parametrize("count", [None, 64, 2048])
def test_more_queries_than_points_mean_the_whole_grid_in_order(count):
    plan = QueryPlan.of((8, 8), count, "uniform")
    assert torch.equal(plan.choose(0, 1, PAIRS), torch.arange(64).expand(50, -1))


def test_what_the_encoder_reads_again_is_a_regular_grid():
    assert QueryPlan.of((16,), 4, "uniform").reread().lattice == (16,)
    assert QueryPlan.of((8, 8), 20, "uniform").reread().lattice == (4, 4)
    assert QueryPlan.of((8, 8), 20, "lattice").reread().lattice == (4, 4)
