"""Values while a graph runs: their struct info, and the numbers of symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, DTypeError, InterpreterError, ShapeError
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var
from tilewright.relax.sizes import size_text, solve_linear, symbolic_vars_of
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.runtime.ndarray import NDArray
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter import Interpreter
from tilewright.tir.op import ret
from tilewright.tir.stmt import Evaluate

Sizes = dict[Var, int]
"""The values of symbolic sizes."""


class Shape(tuple[Any, ...]):
    """A shape while a graph runs."""

    __slots__ = ()

    def __new__(cls, extents: Iterable[Any]) -> Shape:
        return super().__new__(cls, (int(extent) for extent in extents))

    def __repr__(self) -> str:
        return f"Shape{tuple(self)!r}"


def as_value(given: Any, info: StructInfo | None = None) -> Any:
    """What a caller, or a registered function, gives, as a value of a graph."""
    if given is None and isinstance(info, TupleStructInfo) and not info.fields:
        return ()  # what a function of Python returns that has no result
    if isinstance(given, NDArray):
        given = given.__array__(copy=False)
    if isinstance(given, np.ndarray):
        return given if given.flags.c_contiguous else given.copy(order="C")
    if isinstance(info, ShapeStructInfo) and isinstance(given, (tuple, list)):
        return Shape(given) if all(map(_is_integer, given)) else tuple(given)
    if isinstance(given, (tuple, list)) and not isinstance(given, Shape):
        fields = info.fields if isinstance(info, TupleStructInfo) else ()
        infos = [*fields, *[None] * (len(given) - len(fields))]
        return tuple(map(as_value, given, infos))
    if isinstance(given, np.generic):
        return np.asarray(given) if isinstance(info, TensorStructInfo) else given.item()
    if hasattr(given, "__dlpack__"):
        from tilewright.runtime.ndarray import from_dlpack

        return as_value(from_dlpack(given))
    return given


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def struct_info_of(value: Any) -> StructInfo:
    """All that can be known of a value."""
    if isinstance(value, np.ndarray):
        return TensorStructInfo(value.shape, DType(str(value.dtype)))
    if isinstance(value, Shape):
        return ShapeStructInfo(value)
    if isinstance(value, tuple):
        return TupleStructInfo([struct_info_of(field) for field in value])
    if isinstance(value, bool):
        return PrimStructInfo("bool", value)
    if isinstance(value, int):
        return PrimStructInfo("int64", value)
    if isinstance(value, float):
        return PrimStructInfo("float64", value)
    return ObjectStructInfo()


class _Equation(NamedTuple):
    """An expression of sizes, and the number that it must be."""

    expr: Expr
    found: Any
    place: str


class Match:
    """The check that values have some struct info, which gives symbolic sizes their values.

    Args:
        sizes: known sizes, to which the check adds those that it defines.
        evaluate: gives the number that an expression is.
    """

    def __init__(self, sizes: Sizes, evaluate: Callable[[Expr, Sizes], Any]) -> None:
        self.sizes, self._evaluate = sizes, evaluate
        self._equations: list[_Equation] = []

    def value(self, info: StructInfo, value: Any, where: str) -> None:
        """Require that `value` has the kind, the dtype and the rank that `info` says.

        Raises:
            ArgumentError: for another kind of value.
            DTypeError, ShapeError: for another dtype or rank.
        """
        if isinstance(info, TensorStructInfo):
            self._tensor(info, value, where)
        elif isinstance(info, ShapeStructInfo):
            self._shape(info, value, where)
        elif isinstance(info, TupleStructInfo):
            if not isinstance(value, tuple) or isinstance(value, Shape):
                raise ArgumentError(f"{where} must be a tuple, it is {_kind(value)}")
            if len(value) != len(info.fields):
                raise ArgumentError(
                    f"{where} must have {len(info.fields)} fields, it has {len(value)}"
                )
            for index, (field, item) in enumerate(zip(info.fields, value, strict=True)):
                self.value(field, item, f"{where}[{index}]")
        elif isinstance(info, PrimStructInfo):
            self._scalar(info, value, where)
        elif isinstance(info, FuncStructInfo) and not callable(value):
            raise ArgumentError(f"{where} must be a function, it is {_kind(value)}")

    def _tensor(self, info: TensorStructInfo, value: Any, where: str) -> None:
        if not isinstance(value, np.ndarray):
            raise ArgumentError(f"{where} must be an array, it is {_kind(value)}")
        if info.dtype is not None and value.dtype != info.dtype.numpy:
            raise DTypeError(f"{where} must have dtype {info.dtype!s}, it has {value.dtype}")
        if info.ndim not in (UNKNOWN_NDIM, value.ndim):
            raise ShapeError(f"{where} must have ndim {info.ndim}, it has ndim {value.ndim}")
        self._extents(info.extents, value.shape, f"dimension {{}} of {where}")

    def _shape(self, info: ShapeStructInfo, value: Any, where: str) -> None:
        if not isinstance(value, Shape):
            raise ArgumentError(f"{where} must be a shape, it is {_kind(value)}")
        if info.ndim not in (UNKNOWN_NDIM, len(value)):
            raise ShapeError(f"{where} must have ndim {info.ndim}, it has ndim {len(value)}")
        for index, extent in enumerate(value):
            if extent < 0:
                raise ShapeError(f"extent {index} of {where} is {extent}, which is negative")
        self._extents(info.values, value, f"extent {{}} of {where}")

    def _extents(
        self, extents: tuple[Expr, ...] | None, found: tuple[int, ...], place: str
    ) -> None:
        for index, (expr, number) in enumerate(zip(extents or (), found, strict=False)):
            self._equations.append(_Equation(expr, number, place.format(index)))

    def _scalar(self, info: PrimStructInfo, value: Any, where: str) -> None:
        if not isinstance(value, (bool, int, float)):
            raise ArgumentError(f"{where} must be a scalar, it is {_kind(value)}")
        if isinstance(value, float) and not info.dtype.is_float:
            raise DTypeError(f"{where} must have dtype {info.dtype!s}, it is {value!r}")
        try:
            const(value, info.dtype)
        except DTypeError:
            message = f"{where} must have dtype {info.dtype!s}, {value!r} is outside of it"
            raise DTypeError(message) from None
        if info.value is not None:
            self._equations.append(_Equation(info.value, value, where))

    def solve(self, defines: bool = True) -> None:
        """Solve for the sizes, and require that all expressions have the values found.

        Raises:
            ShapeError: if one is not.
        """
        for expr, found, _ in self._equations:
            if defines and isinstance(expr, Var):
                self.sizes.setdefault(expr, found)
        analyzer = Analyzer()
        for expr, found, place in self._equations:
            unknown = [var for var in symbolic_vars_of(expr) if var not in self.sizes]
            if defines and len(unknown) == 1:
                self._solve_for(unknown[0], expr, found, place, analyzer)
            elif unknown:
                names = ", ".join(var.name for var in unknown)
                raise ShapeError(
                    f"{place}: the values of {names} do not follow from {size_text(expr)}"
                )
            number = self._evaluate(expr, self.sizes)
            if number != found:
                text = "" if not symbolic_vars_of(expr) else f" = {size_text(expr)}"
                raise ShapeError(f"{place} must be {number}{text}, it is {found}")
        self._equations.clear()

    def _solve_for(
        self, unknown: Var, expr: Expr, found: int, place: str, analyzer: Analyzer
    ) -> None:
        known = {var: const(value, var.dtype) for var, value in self.sizes.items()}
        solution = solve_linear(expr, const(found, expr.dtype), unknown, known, analyzer)
        value = getattr(solution, "value", None)
        if not isinstance(value, int):
            raise ShapeError(f"{place} is {found}, which {size_text(expr)} never is")
        self.sizes[unknown] = value


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, Shape):
        return f"a shape {tuple(value)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"{type(value).__name__} {value!r}"


class Scalars:
    """Evaluates scalar expressions in the interpreter of tensor programs; prepares each once."""

    def __init__(self) -> None:
        self._prepared: dict[Expr, tuple[list[Var], Interpreter]] = {}

    def __call__(self, expr: Expr, sizes: Sizes) -> Any:
        """The number that `expr` is."""
        if isinstance(expr, (IntImm, FloatImm)):
            return bool(expr.value) if expr.dtype.is_bool else expr.value
        if isinstance(expr, Var) and expr in sizes:
            return sizes[expr]
        known = self._prepared.get(expr)
        if known is None:
            variables = symbolic_vars_of(expr)
            function = PrimFunc(tuple(variables), Evaluate(ret(expr)))
            known = self._prepared[expr] = variables, Interpreter(function)
        variables, interpreter = known
        missing = [var.name for var in variables if var not in sizes]
        if missing:
            raise InterpreterError(f"the size {missing[0]} of {size_text(expr)} has no value here")
        return interpreter.run("size", *[sizes[var] for var in variables])
