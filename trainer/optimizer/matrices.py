"""The matrices that Muon updates: those between first and last layers but for the blocks' modulation.

Packed ones are taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

PACKED = {"qkv.weight": 3, "key_value.weight": 2}  # several matrices in one parameter
# What reads a field, a condition or a place, and what gives a field. With AdamW, whose update is up to five
# times as large while gradients agree, the decoder's layers made the loss jump (benchmarks/learning).
FIRST_AND_LAST = ("encoder.stems.", "operator.embed_condition.0.", "decoder.place.embed.", "decoder.heads.")
MODULATION = ".modulation."  # six vectors for each condition: an embedding more than a matrix


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
    """Return the trained matrices that Muon is meant for; LookupError if the layers have other names."""
    every = [name for name, _ in model.named_parameters()]
    for layer in FIRST_AND_LAST:
        if not any(name.startswith(layer) for name in every):
            raise LookupError(f"the model has no parameter {layer}*, expected one for AdamW to step")
    matrices: list[Matrix] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and parameter.ndim == 2 and _is_hidden(name):
            pieces = next((count for end, count in PACKED.items() if name.endswith(end)), 1)
            rows = parameter.shape[0] // pieces
            matrices += [Matrix(f"{name}[{n}]", parameter, n * rows, rows) for n in range(pieces)]
    return matrices


def _is_hidden(name: str) -> bool:
    return not name.startswith(FIRST_AND_LAST) and MODULATION not in name
