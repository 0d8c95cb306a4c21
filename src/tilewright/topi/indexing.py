"""Elements at places that other tensors say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.arithmetic import floormod, logical_and, maximum, minimum, select
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, IntImm
from tilewright.te.compute import compute
from tilewright.te.elementwise import broadcast_element, broadcast_shape
from tilewright.te.tensor import Tensor
from tilewright.tir.op.control import if_then_else
from tilewright.topi import tag
from tilewright.topi.operands import as_int, normalized_axis
from tilewright.topi.reshape import number_of_elements, reshape

MODES = ("clip", "wrap", "fast")


def place_of(index: Expr, extent: Expr, mode: str) -> Expr:
    """Where an index that may be outside of a dimension goes.

    The mode ``"clip"`` takes the nearest element, ``"wrap"`` the place modulo the extent,
    ``"fast"`` knows that indices are inside.
    """
    if mode == "fast":
        return index
    length = cast(index.dtype, extent)
    if mode == "wrap":
        return floormod(index, length)
    highest = length - 1
    return maximum(minimum(index, highest), const(0, index.dtype))


def check_mode(owner: str, mode: str) -> None:
    """Require that `mode` is one of `MODES`."""
    if mode not in MODES:
        raise ArgumentError(f"{owner}: mode is one of {', '.join(MODES)}, got {mode!r}")


def _check_integers(owner: str, indices: Tensor) -> None:
    if not indices.dtype.is_integral or indices.dtype.is_bool:
        raise DTypeError(f"{owner}: indices are integers, got {indices.dtype!s}")


def take(
    a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> Tensor:
    """The elements of `a` at `indices` along `axis`.

    Args:
        a: the tensor.
        indices: integers of any shape, which stands in the result in place of the dimension.
        axis: the dimension; None for the place among all elements.
        batch_dims: how many leading dimensions of `a` and `indices` are the same.
        mode: what indices outside of the dimension are; see `place_of`.
    """
    owner = "topi.take"
    check_mode(owner, mode)
    _check_integers(owner, indices)
    if axis is None:
        a, axis = reshape(a, (number_of_elements(a.shape),)), 0
    along = normalized_axis(owner, axis, a.ndim)
    batch = as_int(owner, "batch_dims", batch_dims)
    batch = batch + indices.ndim if batch < 0 else batch
    if not 0 <= batch <= min(along, indices.ndim):
        raise ShapeError(
            f"{owner}: batch_dims {batch_dims} is neither within the {indices.ndim} dimensions of "
            f"the indices nor before axis {along}"
        )
    inner = indices.ndim - batch

    def element(*i: Expr) -> Expr:
        index = indices(*i[:batch], *i[along : along + inner])
        place = place_of(index, a.shape[along], mode)
        return a(*i[:along], place, *i[along + inner :])

    shape = (*a.shape[:along], *indices.shape[batch:], *a.shape[along + 1 :])
    return compute(shape, element, "T_take", tag.INJECTIVE)


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """For each index, the element of `data` at that place along `axis`, and the same others.

    Places outside go to the nearest element.
    """
    along = normalized_axis("topi.gather", axis, data.ndim)
    _check_integers("topi.gather", indices)
    if indices.ndim != data.ndim:
        raise ShapeError(
            f"topi.gather: indices of {indices.ndim} dimensions for data of {data.ndim}"
        )

    def element(*i: Expr) -> Expr:
        place = place_of(indices(*i), data.shape[along], "clip")
        return data(*i[:along], place, *i[along + 1 :])

    return compute(indices.shape, element, "T_gather", tag.INJECTIVE)


def gather_nd(
    a: Tensor, indices: Tensor, batch_dims: int = 0, index_rank: int | None = None
) -> Tensor:
    """The elements, or parts, of `a` at the index tuples in the columns of `indices`.

    Args:
        a: the tensor.
        indices: of shape ``(m, *places)``: the m indices of each place.
        batch_dims: how many leading dimensions of `a` are the same as those after the first of
            `indices`.
        index_rank: m, where the shape of `indices` does not say it.
    """
    owner = "topi.gather_nd"
    _check_integers(owner, indices)
    if indices.ndim == 0:
        raise ShapeError(f"{owner}: the indices have no dimensions")
    first = indices.shape[0]
    count = first.value if isinstance(first, IntImm) else index_rank
    if count is None:
        raise ArgumentError(f"{owner}: give index_rank, the indices do not say how many there are")
    places = indices.shape[1:]
    if batch_dims + count > a.ndim or batch_dims > len(places):
        raise ShapeError(
            f"{owner}: {count} indices after {batch_dims} batch dimensions for {a.ndim} dimensions"
        )

    def element(*i: Expr) -> Expr:
        at, rest = i[: len(places)], i[len(places) :]
        found = [place_of(indices(n, *at), a.shape[batch_dims + n], "clip") for n in range(count)]
        return a(*at[:batch_dims], *found, *rest)

    shape = (*places, *a.shape[batch_dims + count :])
    return compute(shape, element, "T_gather_nd", tag.INJECTIVE)


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """``data[indices]`` of numpy: integer tensors that broadcast, one per leading dimension."""
    owner = "topi.adv_index"
    if not indices or len(indices) > data.ndim:
        raise ShapeError(f"{owner}: {len(indices)} indices for {data.ndim} dimensions")
    shape = indices[0].shape
    for index in indices:
        _check_integers(owner, index)
        shape = broadcast_shape(shape, index.shape, owner)

    def element(*i: Any) -> Expr:
        at, rest = i[: len(shape)], i[len(shape) :]
        places = []
        for n, tensor in enumerate(indices):
            index = broadcast_element(tensor, at)
            length = cast(index.dtype, data.shape[n])
            places.append(place_of(select(index < 0, index + length, index), length, "clip"))
        return data(*places, *rest)

    return compute((*shape, *data.shape[len(indices) :]), element, "advanced_index", tag.INJECTIVE)


def where(condition: Any, x: Any, y: Any) -> Tensor:
    """`x` where `condition` holds, else `y`; all of them broadcast.

    A condition of numbers holds where they are not 0.
    """
    operands = [condition, x, y]
    shape: Sequence[Expr] = ()
    for operand in operands:
        if isinstance(operand, Tensor):
            shape = broadcast_shape(shape, operand.shape, "topi.where")

    def element(*i: Any) -> Expr:
        chosen, one, other = (
            broadcast_element(item, i) if isinstance(item, Tensor) else item for item in operands
        )
        chosen = as_expr(chosen)
        if not chosen.dtype.is_bool:
            chosen = chosen != 0
        return select(chosen, one, other)

    return compute(shape, element, "T_where", tag.BROADCAST)


def one_hot(
    indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str
) -> Tensor:
    """Vectors of length `depth` with `on_value` at each index and `off_value` elsewhere.

    Args:
        indices: the places.
        on_value: the value at the place.
        off_value: the value elsewhere.
        depth: how long the vectors are.
        axis: their dimension in the result, -1 for the last.
        dtype: of the result.
    """
    along = normalized_axis("topi.one_hot", axis, indices.ndim + 1)
    _check_integers("topi.one_hot", indices)
    on, off = (cast(dtype, value) for value in (on_value, off_value))

    def element(*i: Expr) -> Expr:
        index = indices(*i[:along], *i[along + 1 :])
        return select(index == cast(index.dtype, i[along]), on, off)

    shape = (*indices.shape[:along], depth, *indices.shape[along:])
    return compute(shape, element, "T_one_hot", tag.INJECTIVE)


def sequence_mask(
    data: Tensor, valid_length: Tensor, mask_value: float = 0.0, axis: int = 0
) -> Tensor:
    """`data` with `mask_value` behind the end of each sequence.

    Args:
        data: sequences along dimension `axis` of a batch along the other of the first two.
        valid_length: how long each sequence is.
        mask_value: value behind it.
        axis: 0 or 1.
    """
    owner = "topi.sequence_mask"
    along = normalized_axis(owner, axis, data.ndim)
    if data.ndim < 2 or along > 1 or valid_length.ndim != 1:
        raise ShapeError(f"{owner}: axis is 0 or 1 of at least 2 dimensions, lengths are a vector")

    def element(*i: Expr) -> Expr:
        length = valid_length(i[1 - along])
        inside = cast(length.dtype, i[along]) < length
        return select(inside, data(*i), const(mask_value, data.dtype))

    return compute(data.shape, element, "T_sequence_mask", tag.INJECTIVE)


def matrix_set_diag(
    data: Tensor, diagonal: Tensor, k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with some diagonals replaced.

    Args:
        data: the matrices.
        diagonal: the new diagonal of each; of several diagonals, one row for each, from the
            highest.
        k: the diagonal, 0 for the main one, more for one further up; or the lowest and the
            highest of several.
        align: whether shorter diagonals begin at the left or at the right of their rows, first
            those above the main diagonal and then those below.
    """
    owner = "topi.matrix_set_diag"
    bounds = list(k) if isinstance(k, (tuple, list)) else [k, k]
    low, high = (as_int(owner, "k", value) for value in (bounds[0], bounds[-1]))
    sides = align.split("_")
    if len(sides) != 2 or not set(sides) <= {"LEFT", "RIGHT"} or low > high:
        raise ArgumentError(f"{owner}: align is such as 'RIGHT_LEFT', k one diagonal or a range")
    rows, columns = data.shape[-2:]
    longest = diagonal.shape[-1]

    def element(*i: Expr) -> Expr:
        row, column = i[-2], i[-1]
        number = column - row
        place = minimum(row, column)
        if low == high:
            new = diagonal(*i[:-2], place)
        else:
            length = minimum(minimum(rows, rows + number), minimum(columns, columns - number))
            shift = longest - length
            above = shift if sides[0] == "RIGHT" else const(0, shift.dtype)
            below = shift if sides[1] == "RIGHT" else const(0, shift.dtype)
            new = diagonal(*i[:-2], high - number, place + select(number >= 0, above, below))
        inside = (number == low) if low == high else _between(number, low, high)
        return if_then_else(inside, new, data(*i))

    return compute(data.shape, element, "matrix_set_diag", tag.INJECTIVE)


def _between(value: Expr, low: int, high: int) -> Expr:
    return logical_and(value >= low, value <= high)
