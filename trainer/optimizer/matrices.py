"""The matrices that Muon updates: those between first and last layers, packed ones taken apart."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

PACKED = {"qkv.weight": 3, "key_value.weight": 2}  # several matrices in one parameter
# What reads a field, a condition or a place, and what gives a field. All between them is Muon's: AdamW's
# first steps are five times as large, and the loss jumps with those of the decoder's layers
# (benchmarks/learning).
FIRST_AND_LAST = ("encoder.stems.", "operator.embed_condition.0.", "decoder.place.embed.", "decoder.heads.")
# Shifts, scales and gates of a block: behind the conditions alone, and six parts of different use.
OF_CONDITIONS = ".modulation."


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
    """Return the trained matrices between the first and the last layers, which is where Muon is meant for."""
    matrices: list[Matrix] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.ndim == 2 and _is_hidden(name):
            pieces = next((count for end, count in PACKED.items() if name.endswith(end)), 1)
            rows = parameter.shape[0] // pieces
            matrices += [Matrix(f"{name}[{n}]", parameter, n * rows, rows) for n in range(pieces)]
    return matrices


def _is_hidden(name: str) -> bool:
    return not name.startswith(FIRST_AND_LAST) and OF_CONDITIONS not in name
