"""`Parameter`: the weights of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import RelaxExpr, Var
from tilewright.relax.frontend.nn.tensor import Tensor
from tilewright.relax.struct_info import TensorStructInfo
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

    def operand(self) -> RelaxExpr:
        """The graph expression.

        Raises:
            ArgumentError: if the function that is being built does not have the parameter.
        """
        builder = BlockBuilder.current()
        if builder is not None and self._expr not in builder.function_scope.visible:
            raise ArgumentError(
                f"{self!r} is not a parameter of the function: it has to be an attribute of the "
                "module or of a module below (lists of modules are nn.ModuleList, dictionaries "
                "nn.ModuleDict), and the param_mode must not be 'none'"
            )
        return self._expr


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
