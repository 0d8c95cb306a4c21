"""`Tensor` and `Object`: the graph values that modules compute with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as Size
from tilewright.providers import provider
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Constant, RelaxExpr, ShapeExpr, Tuple, TupleGetItem, Var, const
from tilewright.relax.expr.leaves import GraphOperators
from tilewright.relax.struct_info import TensorStructInfo, TupleStructInfo


def extent_of(extent: Any) -> Any:
    """An extent as shapes hold it: a name becomes a symbolic size.

    Raises:
        ArgumentError: for something else than a whole number, a name or an expression.
    """
    if isinstance(extent, str):
        if not extent.isidentifier():
            raise ArgumentError(
                f"the name of a symbolic size is an identifier, such as 'batch', got {extent!r}"
            )
        return Size(extent, INT64)
    is_number = isinstance(extent, (int, np.integer)) and not isinstance(extent, bool)
    if not is_number and not isinstance(extent, Expr):
        raise ArgumentError(
            f"an extent is a number, a name such as 'batch', or a tir expression, got {extent!r}"
        )
    return extent


class Tensor(GraphOperators):
    """An array of the graph that is being built.

    The operators of Python and of `tilewright.relax.frontend.nn.op` make new tensors of it.
    """

    __slots__ = ("_expr",)

    def __init__(self, *, _expr: RelaxExpr) -> None:
        info = getattr(_expr, "struct_info", None)
        if not isinstance(info, TensorStructInfo):
            raise ArgumentError(
                f"nn.Tensor: expected a graph value that is an array, got {_expr!r}: {info!r}; "
                "make tensors with Tensor.from_const, from_scalar or placeholder"
            )
        self._expr = _expr

    # --- making tensors -----------------------------------------------------------------------

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A tensor of elements that are known now: an array, or nested lists of numbers."""
        return Tensor(_expr=const(data))

    @staticmethod
    def from_scalar(data: float, dtype: str) -> Tensor:
        """A tensor without dimensions."""
        return Tensor(_expr=const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> Tensor:
        """A tensor without a value, with this struct info."""
        return Tensor(_expr=Var(name, struct_info))

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """A tensor without a value.

        Args:
            shape: its extents; a string names a symbolic size.
            dtype: of the elements.
            name: of its variable.
        """
        info = TensorStructInfo([extent_of(extent) for extent in shape], dtype)
        return Tensor.from_struct_info(info, name)

    # --- properties ---------------------------------------------------------------------------

    @property
    def _info(self) -> TensorStructInfo:
        info = self._expr.struct_info
        assert isinstance(info, TensorStructInfo)
        return info

    @property
    def shape(self) -> list[Any]:
        """The extents, numbers where they are known.

        Raises:
            ShapeError: if only the rank is known.
        """
        extents = self._info.extents
        if extents is None:
            raise ShapeError(f"the shape of {self!r} is not known while the graph is built")
        return [extent.value if isinstance(extent, IntImm) else extent for extent in extents]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._info.ndim

    @property
    def dtype(self) -> str:
        """The dtype of the elements."""
        return str(self._info.dtype)

    def operand(self) -> RelaxExpr:
        """The graph expression."""
        return self._expr

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}({self._info!r})"

    # --- operators ----------------------------------------------------------------------------

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"the elements of {self!r} are not known while the graph is built; use nn.op.where "
            "instead of `if`, `and` and `or`"
        )

    def operate(self, name: str, *operands: object) -> Any:
        """The tensor that one of Python's operators computes."""
        return wrap_nested(super().operate(name, *map(graph_value, operands)), name)

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(provider("operators of nn"), name)(self, *args, **kwargs)

    def astype(self, dtype: str) -> Any:
        """Each element converted to `dtype`."""
        return self._method("astype", dtype)

    def maximum(self, other: Any) -> Any:
        """The larger one of each two elements."""
        return self._method("maximum", other)

    def minimum(self, other: Any) -> Any:
        """The smaller one of each two elements."""
        return self._method("minimum", other)

    def reshape(self, *shape: Any) -> Any:
        """The same elements in another shape; see `tilewright.relax.frontend.nn.op.reshape`."""
        return self._method("reshape", *shape)

    def permute_dims(self, *axes: Any) -> Any:
        """The dimensions in the order `axes`; without axes reversed."""
        is_sequence = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (list, tuple)))
        return self._method("permute_dims", axes[0] if is_sequence else list(axes) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Any:
        """Each element along `axis` `repeats` times."""
        return self._method("repeat", repeats, axis)


class Object:
    """A value of the graph that is not an array, such as a cache.

    Subclasses add methods, which call functions with `_expr`.
    """

    _expr: RelaxExpr

    def __init__(self, *, _expr: RelaxExpr, _name: str) -> None:
        self._expr = _expr
        if not isinstance(_expr, Var):
            self._expr = current_builder().emit(_expr, _name)

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}({self._expr!r})"


# --- between tensors and graph expressions --------------------------------------------------


def current_builder() -> BlockBuilder:
    """The builder of the function that is being built.

    Raises:
        ArgumentError: if there is none.
    """
    builder = BlockBuilder.current()
    if builder is None:
        raise ArgumentError(
            "operators on nn.Tensor build a graph: call them in a method of a module that is "
            "exported (export_tvm, jit), or inside of `with builder.function(...)`"
        )
    return builder


def graph_value(value: Any) -> Any:
    """`value` with graph expressions in place of tensors and objects.

    Raises:
        ArgumentError: for a parameter that the function does not have.
    """
    if isinstance(value, Tensor):
        return value.operand()
    if isinstance(value, Object):
        return value._expr
    if isinstance(value, (list, tuple)):
        return type(value)(map(graph_value, value))
    return value


def graph_result(value: Any) -> Any:
    """What a method returns as a graph expression: tensors, sizes, and tuples of these."""
    if value is None:
        return Tuple(())
    if isinstance(value, (list, tuple)):
        return Tuple([graph_result(item) for item in value])
    return graph_value(value)


def wrap_nested(expr: Any, name: str) -> Any:
    """The tensor, or the nested tuple of tensors, that a graph expression computes.

    Args:
        expr: the expression; it is bound to a variable, unless it is one.
        name: of the variable.

    Raises:
        ArgumentError: if a part of it is not an array.
    """
    if not isinstance(expr, (Var, Constant)):
        expr = current_builder().emit(expr, name)
    info = expr.struct_info
    if isinstance(info, TensorStructInfo):
        return Tensor(_expr=expr)
    if isinstance(info, TupleStructInfo):
        fields = range(len(info.fields))
        return tuple(wrap_nested(TupleGetItem(expr, i), f"{name}.{i}") for i in fields)
    raise ArgumentError(f"{name} gives a value that is neither an array nor a tuple: {info!r}")


def shape_expr(shape: Any) -> ShapeExpr:
    """A shape of numbers, tir expressions, or a single one of these."""
    extents = shape if isinstance(shape, (list, tuple)) else [shape]
    return ShapeExpr([extent_of(extent) for extent in extents])
