"""Operators that make arrays of numbers, and that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.relax import op
from tilewright.relax.expr import PrimValue
from tilewright.relax.expr import const as constant
from tilewright.relax.frontend.nn.op.calls import renamed, tensor_operator
from tilewright.relax.frontend.nn.tensor import shape_expr

__all__ = [
    "arange", "argsort", "broadcast_to", "chunk", "concat", "empty", "full", "ones", "pad",
    "permute", "permute_dims", "repeat", "reshape", "sort", "split", "squeeze", "stack", "take",
    "tile", "topk", "tril", "triu", "unsqueeze", "zeros",
]  # fmt: skip


@tensor_operator
def full(shape: Any, fill_value: Any, dtype: str = "float32") -> Any:
    """A tensor of equal elements.

    Args:
        shape: the extents.
        fill_value: a number, or a tensor without dimensions.
        dtype: of the elements.
    """
    if isinstance(fill_value, (bool, int, float)):
        fill_value = constant(fill_value, dtype)
    return op.full(shape_expr(shape), fill_value, dtype)


@tensor_operator
def zeros(shape: Any, dtype: str = "float32") -> Any:
    """A tensor of zeros."""
    return op.zeros(shape_expr(shape), dtype)


@tensor_operator
def ones(shape: Any, dtype: str = "float32") -> Any:
    """A tensor of ones."""
    return op.ones(shape_expr(shape), dtype)


@tensor_operator
def empty(shape: Any, dtype: str = "float32") -> Any:
    """A tensor whose elements do not matter; they are zeros."""
    return op.zeros(shape_expr(shape), dtype)


@tensor_operator
def arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = "float32") -> Any:
    """The numbers from `start`, or 0 if there is no `end`, to before `end`.

    Args:
        start: the first number; the end if that is not given.
        end: the first number that is too large.
        step: from one to the next.
        dtype: of the elements.
    """
    if end is None:
        start, end = 0, start
    return op.arange(*map(PrimValue, (start, end, step)), dtype=dtype)


squeeze = renamed(op.squeeze, "squeeze", "x", "axis")
repeat = renamed(op.repeat, "repeat", "x", "repeats", "axis")
tile = renamed(op.tile, "tile", "x", "repeats")
split = renamed(op.split, "split", "ary", "indices_or_sections", "axis")
sort = renamed(op.sort, "sort", "x", "axis", "descending")
argsort = renamed(op.argsort, "argsort", "data", "axis", "descending", "dtype")
topk = renamed(op.topk, "topk", "data", "k", "axis", "ret_type", "largest", "dtype")
unsqueeze = renamed(
    op.expand_dims, "unsqueeze", "x", "dim", doc="A new dimension of extent 1 at position `dim`."
)
concat = renamed(op.concat, "concat", "x", "dim", doc="Tensors one after the other along `dim`.")
stack = renamed(op.stack, "stack", "x", "dim", doc="Tensors along a new dimension `dim`.")
chunk = renamed(
    op.split, "chunk", "x", "chunks", "dim",
    doc="A tuple of `chunks` parts along `dim`, the last of which may be smaller.",
)  # fmt: skip
permute_dims, permute = (
    renamed(
        op.permute_dims, name, "x", "axes",
        doc="The dimensions in the order `axes`; without axes, in reverse order.",
    )
    for name in ("permute_dims", "permute")
)  # fmt: skip
triu = renamed(
    op.triu, "triu", "x", "diagonal", doc="The elements on and above a diagonal; 0 below."
)
tril = renamed(
    op.tril, "tril", "x", "diagonal", doc="The elements on and below a diagonal; 0 above."
)


@tensor_operator
def broadcast_to(x: Any, shape: Sequence[Any]) -> Any:
    """`x` repeated to `shape`."""
    return op.broadcast_to(x, shape_expr(shape))


@tensor_operator
def reshape(x: Any, *shape: Any) -> Any:
    """The same elements in another shape.

    Args:
        x: the tensor.
        *shape: the extents, as one sequence or one by one; -1 stands for the rest, 0 for the
            extent of `x` at this position.
    """
    is_sequence = len(shape) == 1 and isinstance(shape[0], (list, tuple))
    return op.reshape(x, list(shape[0] if is_sequence else shape))


@tensor_operator
def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """The elements, rows, ... of `x` at `indices` along `axis`; the nearest for those outside."""
    return op.take(x, indices, axis)


@tensor_operator
def pad(x: Any, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Any:
    """More elements around.

    Args:
        x: the tensor.
        pad: how many before and after each dimension, the first dimension first.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: of the new elements, if they are constant.
    """
    if len(pad) % 2:
        raise ArgumentValueError(f"nn.op.pad: `pad` has two numbers for a dimension, got {pad!r}")
    return op.nn.pad(x, list(pad), mode, value)
