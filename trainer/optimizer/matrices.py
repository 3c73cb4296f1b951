"""The matrices that Muon updates: those inside the operator's blocks, packed ones taken apart."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

PACKED = {"qkv.weight": 3}  # queries, keys and values are three matrices in one parameter
NOT_HIDDEN = "modulation"  # reads the conditions, which are an input


@dataclass(frozen=True)
class Matrix:
    """One matrix: a parameter, or some of the rows of a packed one."""

    name: str
    parameter: nn.Parameter
    first_row: int
    rows: int

    def of(self, packed: Float[Tensor, "packed_rows columns"]) -> Float[Tensor, "rows columns"]:
        """Return this matrix's rows of a tensor in the parameter's shape."""
        return packed[self.first_row : self.first_row + self.rows]

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.parameter.shape[1]


def hidden_matrices(model: nn.Module) -> list[Matrix]:
    """Return the matrices between the first and the last layer, which is where Muon is meant for."""
    matrices: list[Matrix] = []
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2 and ".blocks." in f".{name}" and NOT_HIDDEN not in name:
            pieces = next((count for end, count in PACKED.items() if name.endswith(end)), 1)
            rows = parameter.shape[0] // pieces
            matrices += [Matrix(f"{name}[{n}]", parameter, n * rows, rows) for n in range(pieces)]
    return matrices
