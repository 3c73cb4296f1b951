"""Layer norm of a residual sum with the branch's bias, forward and backward, each in one pass over memory."""

import torch
import triton
import triton.language as tl
from torch import Tensor

# Of a tile: no sum crosses warps, and many small programs hide what memory takes. Fastest of 6 and 24 tried
# on an H200 with 262,144 rows of 384, where the forward pass wrote its result too.
FORWARD_ROWS, FORWARD_WARPS = 2, 1
BACKWARD_ROWS, BACKWARD_WARPS = 1, 1


def add_norm(
    x: Tensor, x_affine: list[Tensor], branch: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """Return the norm of x + branch + bias without its weight and shift, as branch (rows, dim), and
    over_deviation (rows), what the centred sum was multiplied by.

    What reads the rows applies weight and shift: written as well, their result would be one more pass. So x
    may be such rows itself, for which x_affine has weight and shift, and else nothing. x may have fewer rows,
    of which branch has a multiple.
    """
    no_reader = [branch] * 5  # not read without fields
    return _normed(x, x_affine, branch, bias, eps, no_reader, 0)


def add_norm_read(
    x: Tensor,
    x_affine: list[Tensor],
    branch: Tensor,
    bias: Tensor,
    weight: Tensor,
    shift: Tensor,
    eps: float,
    reader: list[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """The same, behind what a narrow linear layer reads of normal weight + shift: (rows, fields), float32.

    reader: its weight (fields, dim) and bias. A product with so few columns would be one more pass.
    """
    fields = len(reader[0])
    read = branch.new_empty(len(branch), fields, dtype=torch.float32)
    reading = [weight, shift, reader[0].contiguous(), reader[1], read]
    return read, *_normed(x, x_affine, branch, bias, eps, reading, fields)


def _normed(
    x: Tensor,
    x_affine: list[Tensor],
    branch: Tensor,
    bias: Tensor,
    eps: float,
    reading: list[Tensor],
    fields: int,
) -> tuple[Tensor, Tensor]:
    normal = torch.empty_like(branch)
    rows, dim = branch.shape
    over_deviation = torch.empty(rows, dtype=torch.float32, device=branch.device)
    _add_norm_forward[(triton.cdiv(rows, FORWARD_ROWS),)](
        *(x, *(x_affine or [bias, bias]), branch, bias, *reading, normal, over_deviation),
        *(rows, len(x), eps, dim, triton.next_power_of_2(dim), FORWARD_ROWS, bool(x_affine), fields),
        num_warps=FORWARD_WARPS,
    )
    return normal, over_deviation


def add_norm_gradients(
    out_gradients: list[Tensor], normal: Tensor, weight: Tensor, over_deviation: Tensor, parts: Tensor
) -> Tensor:
    """Return the gradient of the sum (rows, dim); put parts of those of bias, weight and shift side by side
    into parts (programs, 3 dim). The gradient of the result is the sum of the one or two given.
    """
    first, *second = out_gradients
    given = [first, *(second or [first]), first]  # what is not there is not read
    return _gradients(given, normal, weight, over_deviation, parts, two=bool(second), fields=0)


def add_norm_read_gradients(
    read_gradient: Tensor,
    reader: Tensor,
    normal: Tensor,
    weight: Tensor,
    over_deviation: Tensor,
    parts: Tensor,
) -> Tensor:
    """The same, from the gradient (rows, fields) of what the reader (fields, dim) has read."""
    read_gradient = read_gradient.contiguous()
    given = [read_gradient, read_gradient, reader.contiguous()]
    return _gradients(given, normal, weight, over_deviation, parts, two=False, fields=len(reader))


def _gradients(
    given: list[Tensor],
    normal: Tensor,
    weight: Tensor,
    over_deviation: Tensor,
    parts: Tensor,
    *,
    two: bool,
    fields: int,
) -> Tensor:
    sum_gradient = torch.empty_like(normal)
    rows, dim = normal.shape
    _add_norm_backward[(len(parts),)](
        *(*given, normal, weight, over_deviation, sum_gradient, parts, parts.stride(0)),
        *(rows, dim, triton.next_power_of_2(dim), BACKWARD_ROWS, two, fields),
        num_warps=BACKWARD_WARPS,
    )
    return sum_gradient


@triton.jit
def _add_norm_forward(
    x_ptr,
    x_weight_ptr,
    x_shift_ptr,
    branch_ptr,
    bias_ptr,
    weight_ptr,
    shift_ptr,
    reader_ptr,  # (FIELDS, DIM)
    reader_bias_ptr,
    read_ptr,  # (rows, FIELDS) float32
    normal_ptr,
    over_deviation_ptr,
    rows,
    x_rows,
    eps,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    X_AFFINE: tl.constexpr,
    FIELDS: tl.constexpr,
):
    column = tl.arange(0, COLUMNS)[None, :]
    filled = column < DIM
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    inside = (row < rows) & filled
    place = row.to(tl.int64) * DIM + column
    x = tl.load(x_ptr + (row % x_rows).to(tl.int64) * DIM + column, mask=inside, other=0.0).to(tl.float32)
    if X_AFFINE:
        x *= tl.load(x_weight_ptr + column, mask=filled, other=0.0).to(tl.float32)
        x += tl.load(x_shift_ptr + column, mask=filled, other=0.0).to(tl.float32)
    branch = tl.load(branch_ptr + place, mask=inside, other=0.0).to(tl.float32)
    total = x + branch + tl.load(bias_ptr + column, mask=filled, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=1)[:, None] / DIM
    centred = tl.where(filled, total - mean, 0.0)
    over_deviation = tl.rsqrt(tl.sum(centred * centred, axis=1)[:, None] / DIM + eps)
    normal = centred * over_deviation
    tl.store(normal_ptr + place, normal.to(normal_ptr.dtype.element_ty), mask=inside)
    if FIELDS > 0:
        weight = tl.load(weight_ptr + column, mask=filled, other=0.0).to(tl.float32)
        shift = tl.load(shift_ptr + column, mask=filled, other=0.0).to(tl.float32)
        out = normal * weight + shift
        for field in tl.static_range(FIELDS):
            reader = tl.load(reader_ptr + field * DIM + column, mask=filled, other=0.0).to(tl.float32)
            read = tl.sum(out * reader, axis=1)[:, None]
            read += tl.load(reader_bias_ptr + field).to(tl.float32)
            read_place = row.to(tl.int64) * FIELDS + field
            tl.store(read_ptr + read_place, read, mask=row < rows)
    tl.store(over_deviation_ptr + row, over_deviation, mask=row < rows)


@triton.jit
def _add_norm_backward(
    out_gradient_ptr,  # (rows, DIM), or (rows, FIELDS) where there are any
    second_gradient_ptr,
    reader_ptr,  # (FIELDS, DIM)
    normal_ptr,
    weight_ptr,
    over_deviation_ptr,
    sum_gradient_ptr,
    part_ptr,  # (programs, 3 DIM) float32: each program's part for bias, weight and shift
    part_stride,
    rows,
    DIM: tl.constexpr,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    TWO: tl.constexpr,
    FIELDS: tl.constexpr,
):
    column = tl.arange(0, COLUMNS)[None, :]
    filled = column < DIM
    weight = tl.load(weight_ptr + column, mask=filled, other=0.0).to(tl.float32)
    of_bias = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    of_weight = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    of_shift = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & filled
        place = row.to(tl.int64) * DIM + column
        if FIELDS == 0:
            gradient = tl.load(out_gradient_ptr + place, mask=inside, other=0.0).to(tl.float32)
        else:
            gradient = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
        if TWO:
            gradient += tl.load(second_gradient_ptr + place, mask=inside, other=0.0).to(tl.float32)
        for field in tl.static_range(FIELDS):
            of_read = tl.load(
                out_gradient_ptr + row.to(tl.int64) * FIELDS + field, mask=row < rows, other=0.0
            )
            reader = tl.load(reader_ptr + field * DIM + column, mask=filled, other=0.0).to(tl.float32)
            gradient += of_read.to(tl.float32) * reader
        normal = tl.load(normal_ptr + place, mask=inside, other=0.0).to(tl.float32)
        over_deviation = tl.load(over_deviation_ptr + row, mask=row < rows, other=0.0)
        of_weight += gradient * normal
        of_shift += gradient
        gradient *= weight
        along = tl.sum(gradient * normal, axis=1)[:, None] / DIM
        level = tl.sum(gradient, axis=1)[:, None] / DIM
        gradient = tl.where(inside, (gradient - level - normal * along) * over_deviation, 0.0)
        of_bias += gradient
        tl.store(sum_gradient_ptr + place, gradient.to(sum_gradient_ptr.dtype.element_ty), mask=inside)
    part = part_ptr + tl.program_id(0) * part_stride + column
    tl.store(part, tl.sum(of_bias, axis=0)[None, :], mask=filled)
    tl.store(part + DIM, tl.sum(of_weight, axis=0)[None, :], mask=filled)
    tl.store(part + 2 * DIM, tl.sum(of_shift, axis=0)[None, :], mask=filled)
