"""How a grid is cut into equal patches, one token each."""

from collections.abc import Mapping

Grids = Mapping[str, tuple[int, ...]]  # of each task, as the model sees it


def token_grid(tokens: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """Cut the tokens into the most even product that divides the grid; () where there is none."""
    if len(grid) == 1:
        return (tokens,) if grid[0] % tokens == 0 else ()
    columns = [n for n in range(1, tokens + 1) if tokens % n == 0]
    fitting = [n for n in columns if grid[1] % n == 0 and grid[0] % (tokens // n) == 0]
    if not fitting:
        return ()
    best = min(fitting, key=lambda n: (abs(n - tokens // n), n))
    return (tokens // best, best)
