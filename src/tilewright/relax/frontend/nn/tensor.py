"""`Tensor`, `Parameter` and `Object`: the graph values that modules compute with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as Size
from tilewright.ir.operators import Operators
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    Constant,
    RelaxExpr,
    ShapeExpr,
    TupleGetItem,
    Var,
    const,
)
from tilewright.relax.struct_info import TensorStructInfo, TupleStructInfo
from tilewright.runtime.ndarray import NDArray, array, from_dlpack

_default_dtype = "float32"


def get_default_dtype() -> str:
    """The dtype of parameters that are made without one: ``"float32"`` at first."""
    return _default_dtype


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that are made without one.

    Raises:
        DTypeError: if there is no such dtype.
    """
    global _default_dtype
    _default_dtype = str(DType(dtype))


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


class Tensor(Operators):
    """An array of the graph that is being built.

    The operators of Python and of `tilewright.relax.frontend.nn.op` make new tensors of it.
    """

    __slots__ = ("_expr",)
    operator_priority = 20
    __array_ufunc__ = None  # numpy scalars leave the operator to us

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
        """A tensor without a value, of which `struct_info` is known."""
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

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}({self._info!r})"

    # --- operators ----------------------------------------------------------------------------

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"the elements of {self!r} are not known while the graph is built; use nn.op.where "
            "instead of `if`, `and` and `or`"
        )

    def accepts(self, other: object) -> bool:
        """Arrays become constants, beside what other expressions accept."""
        return isinstance(other, (np.ndarray, NDArray)) or super().accepts(other)

    def operate(self, name: str, *operands: object) -> Any:
        """The tensor that one of Python's operators computes."""
        from tilewright.relax.op.python_operators import operate

        return wrap_nested(operate(name, *map(graph_value, operands)), name)

    def __pow__(self, other: object) -> Any:
        return self.operate("power", self, other)

    def __rpow__(self, other: object) -> Any:
        return self.operate("power", other, self)

    def __matmul__(self, other: object) -> Any:
        return self.operate("matmul", self, other)

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        from tilewright.relax.frontend.nn import op

        return getattr(op, name)(self, *args, **kwargs)

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


class Parameter(Tensor):
    """A weight of a module: a tensor whose elements are given before the module is compiled.

    Attributes:
        attrs: notes of the user, such as where the weight is loaded from.
    """

    __slots__ = ("_data", "attrs")

    def __init__(self, shape: Sequence[Any], dtype: str | None = None) -> None:
        """A weight without elements.

        Args:
            shape: its extents; a string names a symbolic size.
            dtype: of the elements, by default `get_default_dtype`.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        super().__init__(_expr=Tensor.placeholder(shape, dtype, "param")._expr)
        self._data: NDArray | None = None
        self.attrs: dict[str, Any] = {}

    @property
    def data(self) -> NDArray | None:
        """The elements; None before they are given."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        """Give the elements: an array of any framework, of this shape and dtype.

        Raises:
            ShapeError: for another shape.
            DTypeError: for another dtype.
            ArgumentError: for something that is not an array.
        """
        self._data = None if data is None else self._checked(as_array(data))

    def _checked(self, data: NDArray) -> NDArray:
        if str(data.dtype) != self.dtype:
            raise DTypeError(f"a parameter of dtype {self.dtype} cannot hold {data.dtype!s} data")
        extents = self.shape
        fits = len(extents) == len(data.shape) and all(
            isinstance(extent, Expr) or extent == actual
            for extent, actual in zip(extents, data.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"a parameter of shape {tuple(extents)} cannot hold data of shape "
                f"{tuple(data.shape)}"
            )
        return data

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype; elements that are there are converted."""
        if dtype is None:
            return
        info = TensorStructInfo(self._info.shape, dtype)
        self._expr = Var(getattr(self._expr, "name_hint", "param"), info)
        if self._data is not None:
            self._data = array(self._data.numpy().astype(DType(dtype).numpy))


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


def as_array(data: Any) -> NDArray:
    """An array of any framework as one of ours, over the same memory where that is possible.

    Raises:
        ArgumentError: if it is not an array.
    """
    if isinstance(data, NDArray):
        return data
    if isinstance(data, np.ndarray):
        return array(data)
    if hasattr(data, "detach"):  # a tensor of torch, which may be a part of a gradient
        data = data.detach().cpu().contiguous()
    if hasattr(data, "__dlpack__"):
        return from_dlpack(data)
    raise ArgumentError(
        f"expected an array of numpy or torch, or an NDArray, got {type(data).__name__}"
    )


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
    if isinstance(value, Parameter):
        _require_bound(value)
    if isinstance(value, (Tensor, Object)):
        return value._expr
    if isinstance(value, (list, tuple)):
        return type(value)(map(graph_value, value))
    return value


def _require_bound(parameter: Parameter) -> None:
    builder = BlockBuilder.current()
    if builder is not None and parameter._expr not in builder.function_scope.visible:
        raise ArgumentError(
            f"{parameter!r} is not a parameter of the function: it has to be an attribute of the "
            "module or of a module below (lists of modules are nn.ModuleList, dictionaries "
            "nn.ModuleDict), and the param_mode must not be 'none'"
        )


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
