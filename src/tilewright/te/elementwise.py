"""Arithmetic on whole tensors, with the broadcasting rules of numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ShapeError
from tilewright.ir import arithmetic
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.operators import is_numpy_scalar
from tilewright.ir.structural import structural_equal
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor, TensorSlice, is_zero_dimensional, shape_text, zero_like
from tilewright.tir.expr import IterVar

_NAMES = {"floordiv": "floor_divide", "floormod": "floor_mod"}


def broadcast_binary(function: str, left: object, right: object) -> Any:
    """`function` of `tilewright.ir.arithmetic` applied element by element.

    Shapes are aligned at the last dimension, and dimensions of extent 1 repeat. A tensor without
    dimensions that meets a scalar expression gives an expression, so that it can be used inside
    `te.compute`.

    Returns:
        A new `Tensor`; an expression in the case above; NotImplemented if one operand is neither
        a tensor nor a scalar.

    Raises:
        ShapeError: if the shapes do not fit together, or cannot be proved to.
    """
    apply = getattr(arithmetic, function)
    for operand in (left, right):
        if not _is_operand(operand):
            return NotImplemented
    for one, other in ((left, right), (right, left)):
        if is_zero_dimensional(one) and isinstance(other, (Expr, TensorSlice, IterVar)):
            return apply(left, right)
    return broadcast_with(apply, _NAMES.get(function, function), left, right)


def broadcast_with(apply: Callable[..., Any], label: str, left: object, right: object) -> Tensor:
    """`apply` to each pair of elements of two operands, at least one of which is a tensor.

    The result is called after `label`.

    Raises:
        ShapeError: if the shapes do not fit together, or cannot be proved to.
    """
    shapes = [x.shape for x in (left, right) if isinstance(x, Tensor)]
    name = f"T_{label}"
    shape = shapes[0] if len(shapes) == 1 else broadcast_shape(*shapes, name=name)
    return compute(
        shape,
        lambda *ax: apply(_broadcast_element(left, ax), _broadcast_element(right, ax)),
        name,
        "broadcast" if len(shapes) == 2 else "elemwise",
    )


def map_elements(function: str, operand: Tensor) -> Tensor:
    """The unary `function` of `tilewright.ir.arithmetic` applied to each element."""
    apply = getattr(arithmetic, function)
    return compute(operand.shape, lambda *ax: apply(operand(*ax)), f"T_{function}", "elemwise")


def cast_elements(operand: Tensor, dtype: str | DType) -> Tensor:
    """`operand` with elements of type `dtype`."""
    target = DType(dtype)
    return compute(operand.shape, lambda *ax: cast(target, operand(*ax)), "T_cast", "elemwise")


def broadcast_shape(
    left: tuple[Expr, ...], right: tuple[Expr, ...], name: str = "broadcast"
) -> tuple[Expr, ...]:
    """The shape of an elementwise operation on two tensors of the given shapes.

    Raises:
        ShapeError: if two extents differ and neither is 1, or if it cannot be proved that two
            symbolic extents are equal.
    """
    if len(left) < len(right):
        left, right = right, left
    offset = len(left) - len(right)
    shape = list(left)
    for position, b in enumerate(right, offset):
        a = left[position]
        if same_extent(a, b) or is_const_int(b, 1):
            continue
        if not is_const_int(a, 1):
            raise ShapeError(
                f"{name}: shapes {shape_text(left)} and {shape_text(right)} do not fit together: "
                f"extents {shape_text((a, b))} are neither equal nor 1"
            )
        shape[position] = b
    return tuple(shape)


def same_extent(a: Expr, b: Expr) -> bool:
    """Whether two extents are known to be the same, as ``n * 2`` and ``n + n`` are."""
    if a is b:
        return True
    if isinstance(a, Var) and isinstance(b, Var):
        return False
    if is_const_int(a) and is_const_int(b):
        return a.value == b.value  # type: ignore[attr-defined]
    return structural_equal(a, b) or Analyzer().can_prove_equal(a, b)


def _is_operand(value: object) -> bool:
    return isinstance(value, (Tensor, TensorSlice, Expr, IterVar, int, float)) or is_numpy_scalar(
        value
    )


def _broadcast_element(operand: object, ax: tuple[Var, ...]) -> object:
    if not isinstance(operand, Tensor):
        return operand
    return broadcast_element(operand, ax)


def broadcast_element(operand: Tensor, ax: Sequence[Var]) -> Expr:
    """The element of `operand` that broadcasting puts at `ax`."""
    used = ax[len(ax) - operand.ndim :]
    return operand(
        *(
            zero_like(extent) if is_const_int(extent, 1) else index
            for index, extent in zip(used, operand.shape, strict=True)
        )
    )
