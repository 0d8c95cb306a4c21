"""Tensors: the named results of operations, indexed by expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.operators import Operators
from tilewright.ir.text import script_text
from tilewright.tir.buffer import ZERO
from tilewright.tir.expr import IterVar, ProducerLoad

if TYPE_CHECKING:
    from tilewright.te.operation import Operation


class Tensor(Operators):
    """Output number `value_index` of an operation.

    ``A[i, j]`` and ``A(i, j)`` are elements, ``A[i]`` of a matrix is a row that can be indexed on.
    Arithmetic on whole tensors builds new tensors element by element, broadcasting as numpy does.
    A tensor without dimensions also stands for its only element in expressions. Unlike scalar
    expressions, tensors compare by identity: ``A == B`` is a bool.

    Attributes:
        op: the operation that computes it.
        value_index: which output of the operation it is.
        shape: extents as integer expressions.
        dtype: type of the elements.
    """

    __slots__ = ("dtype", "op", "shape", "value_index")
    operator_priority = 10
    __array_ufunc__ = None  # numpy scalars leave the operator to us
    __iter__ = None
    __contains__ = None

    op: Operation
    value_index: int
    shape: tuple[Expr, ...]
    dtype: DType

    def __init__(
        self, op: Operation, value_index: int, shape: tuple[Expr, ...], dtype: DType
    ) -> None:
        self.op, self.value_index, self.shape, self.dtype = op, value_index, shape, dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The name of the operation, with ``_v0``, ``_v1``, ... where it has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}_v{self.value_index}"

    def __getitem__(self, indices: Any) -> Any:
        """The element at `indices`, or a `TensorSlice` if there are fewer than dimensions."""
        return _index(self, indices if isinstance(indices, tuple) else (indices,))

    def __call__(self, *indices: object) -> Expr:
        """The element at `indices`, one per dimension.

        Raises:
            ShapeError: for a wrong number of indices, or a constant outside of the shape.
        """
        if len(indices) != self.ndim:
            raise ShapeError(
                f"tensor {self.name} has {self.ndim} dimensions, got {len(indices)} indices"
            )
        return element(self, indices)

    def as_expr(self) -> Expr:
        """The only element of a tensor without dimensions."""
        if self.shape:
            raise ArgumentError(
                f"tensor {self.name} of shape {shape_text(self.shape)} is not a scalar: index it "
                "inside te.compute, or use the functions of topi on whole tensors"
            )
        return ProducerLoad(self, ())

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very tensor."""
        return self is other

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"the value of tensor {self.name} is not known while the program is built"
        )

    def __repr__(self) -> str:
        return f"Tensor(shape={shape_text(self.shape)}, dtype={self.dtype!s}, op.name={self.name})"

    def operate(self, name: str, *operands: object) -> Any:
        """The function `name` of `tilewright.ir.arithmetic`, applied element by element."""
        from tilewright.te.elementwise import broadcast_binary, map_elements

        if len(operands) == 1:
            return map_elements(name, self)
        return broadcast_binary(name, *operands)

    def astype(self, dtype: str) -> Tensor:
        """A tensor with the elements converted to `dtype`."""
        from tilewright.te.elementwise import cast_elements

        return cast_elements(self, dtype)


class TensorSlice(Operators):
    """Some leading indices of a tensor, waiting for the others: ``A[i]`` of a matrix A."""

    __slots__ = ("indices", "tensor")
    __iter__ = None

    def __init__(self, tensor: Tensor, indices: tuple[object, ...]) -> None:
        self.tensor, self.indices = tensor, indices

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self.tensor.dtype

    def __getitem__(self, indices: Any) -> Any:
        """The element, or a longer slice if dimensions are left."""
        items = indices if isinstance(indices, tuple) else (indices,)
        return _index(self.tensor, (*self.indices, *items))

    def as_expr(self) -> Expr:
        """Refused: a slice is not a scalar."""
        missing = self.tensor.ndim - len(self.indices)
        raise ShapeError(
            f"tensor {self.tensor.name} has {self.tensor.ndim} dimensions, got "
            f"{len(self.indices)} indices: {missing} more to name an element"
        )


def _index(tensor: Tensor, indices: tuple[object, ...]) -> Expr | TensorSlice:
    if len(indices) > tensor.ndim:
        raise ShapeError(
            f"tensor {tensor.name} has {tensor.ndim} dimensions, got {len(indices)} indices"
        )
    if len(indices) < tensor.ndim:
        return TensorSlice(tensor, indices)
    return element(tensor, indices)


def element(tensor: Tensor, indices: tuple[object, ...]) -> Expr:
    """The element of `tensor` at `indices`, after checking them."""
    converted = tuple(
        item.var if isinstance(item, IterVar) else _checked_index(tensor, position, item)
        for position, item in enumerate(indices)
    )
    return ProducerLoad(tensor, converted)


def _checked_index(tensor: Tensor, position: int, item: object) -> Expr:
    if isinstance(item, slice) or item is Ellipsis:
        raise ArgumentError(
            f"index {position} of tensor {tensor.name} is {item!r}: tensors are indexed one "
            "element at a time; use te.compute (or topi.strided_slice) to take a part"
        )
    index = as_expr(item)
    if not index.dtype.is_integral:
        raise DTypeError(
            f"index {position} of tensor {tensor.name} is {index!r} of dtype {index.dtype!s}; "
            "indices are integers"
        )
    extent = tensor.shape[position]
    if isinstance(index, IntImm) and (
        index.value < 0 or (isinstance(extent, IntImm) and index.value >= extent.value)
    ):
        raise ShapeError(
            f"index {position} of tensor {tensor.name} is {index.value}, outside of its shape "
            f"{shape_text(tensor.shape)}"
        )
    return index


def as_shape(shape: Any, owner: str) -> tuple[Expr, ...]:
    """Extents as expressions; one extent may stand alone.

    Args:
        shape: integers, floats that are whole (as ``64 / 8`` is), or integer expressions.
        owner: what has the shape, for messages.

    Raises:
        ShapeError: for a negative extent.
        DTypeError: for an extent that is not an integer.
    """
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    extents = []
    for position, item in enumerate(items):
        extent = as_expr(int(item) if isinstance(item, float) and item.is_integer() else item)
        if not extent.dtype.is_scalar_integer:
            raise DTypeError(
                f"{owner}: extent {position} is {extent!r} of dtype {extent.dtype!s}; extents are "
                "integers"
            )
        if isinstance(extent, IntImm) and extent.value < 0:
            raise ShapeError(f"{owner}: extent {position} is {extent.value}, which is negative")
        extents.append(extent)
    return tuple(extents)


def shape_text(shape: tuple[Expr, ...]) -> str:
    """A shape as a person writes it: ``(4, n)``."""
    items = [extent_text(extent) for extent in shape]
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def extent_text(extent: Expr) -> str:
    """An extent as a person writes it: ``4`` or ``n * 2``, of any integer type."""
    return script_text(extent, int_dtype=str(extent.dtype))


def is_zero_dimensional(value: object) -> bool:
    """Whether `value` is a tensor without dimensions."""
    return isinstance(value, Tensor) and not value.shape


def zero_like(extent: Expr) -> Expr:
    """The index 0 in the dtype of `extent`."""
    return ZERO if extent.dtype is ZERO.dtype else IntImm(extent.dtype, 0)
