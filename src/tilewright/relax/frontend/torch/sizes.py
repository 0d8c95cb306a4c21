"""Symbolic sizes of torch, which are expressions of sympy, as integer expressions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import sympy
import torch
from torch.utils._sympy import functions as symbolic

from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import equal, floordiv, floormod, maximum, minimum, not_equal
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, Var

SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
"""What torch calls numbers that depend on the sizes of the inputs."""


def _real(value: Any) -> Any:
    return cast("float64", value) if isinstance(value, Expr) else float(value)


_OPERATIONS: Final[dict[Any, Callable[..., Any]]] = {
    sympy.Add: lambda *terms: functools.reduce(operator.add, terms),
    sympy.Mul: lambda *factors: functools.reduce(operator.mul, factors),
    sympy.Max: lambda *values: functools.reduce(maximum, values),
    sympy.Min: lambda *values: functools.reduce(minimum, values),
    symbolic.Max: lambda *values: functools.reduce(maximum, values),
    symbolic.Min: lambda *values: functools.reduce(minimum, values),
    symbolic.FloorDiv: floordiv,
    symbolic.CleanDiv: floordiv,
    symbolic.CeilDiv: lambda a, b: floordiv(a + b - 1, b),
    symbolic.PythonMod: floormod,
    symbolic.Mod: floormod,
    symbolic.ModularIndexing: lambda a, divisor, modulus: floormod(floordiv(a, divisor), modulus),
    symbolic.ToFloat: _real,
    symbolic.IntTrueDiv: lambda a, b: _real(a) / _real(b),
    symbolic.FloatTrueDiv: lambda a, b: _real(a) / _real(b),
    sympy.Ge: operator.ge,
    sympy.Gt: operator.gt,
    sympy.Le: operator.le,
    sympy.Lt: operator.lt,
    sympy.Eq: equal,
    sympy.Ne: not_equal,
}  # fmt: skip
_POWERS: Final = (sympy.Pow, symbolic.PowByNatural)


def dimension_names(tensors: Iterable[Any]) -> dict[str, str]:
    """The names that `torch.export.Dim` gave to symbols, as far as torch still knows them.

    Args:
        tensors: what torch knows of the inputs of a program.
    """
    for tensor in tensors:
        shapes = getattr(getattr(tensor, "fake_mode", None), "shape_env", None)
        names = getattr(shapes, "source_name_to_debug_name", None) or {}
        sources = getattr(shapes, "var_to_sources", None) or {}
        if names and sources:
            given = {str(symbol): names.get(_text(found[0])) for symbol, found in sources.items()}
            return {symbol: name for symbol, name in given.items() if name and name.isidentifier()}
    return {}


def _text(source: Any) -> str:
    """Where torch found a size; a property in newer releases, a method before."""
    return source.name if isinstance(source.name, str) else source.name()


class Sizes:
    """The symbolic sizes of one program.

    Attributes:
        names: of variables for symbols, where they are not those of the symbols.
        variables: by symbol, and by name those that were made for extents.
        largest: for variables that were made for extents: the symbol, and what it is multiplied by
            and what is added.
        is_complete: whether all inputs have been seen, which define what symbols there are.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.variables: dict[str, Var] = {}
        self.is_complete = False
        self.largest: dict[str, tuple[Any, int, int]] = {}
        self._solved: dict[Any, Expr] = {}

    def variable(self, name: str) -> Var:
        """The size variable of a symbol.

        Raises:
            ArgumentValueError: if no input defines it.
        """
        if name not in self.variables:
            if self.is_complete:
                raise ArgumentValueError(
                    f"the number {name} depends on the elements of a tensor, which is not supported"
                )
            self.variables[name] = Var(self.names.get(name, name), INT64)
        return self.variables[name]

    def declared(self, name: str, sizes: Sequence[Any]) -> list[Any]:
        """The extents of an input as a parameter has them: each says what a size is, if it can.

        A model that asks for an even extent has ``2*half`` in torch, though no input has ``half``
        itself. Then the extent becomes a variable, and ``half`` an expression of it; the caller
        checks that the extent is even.
        """
        extents = []
        for axis, size in enumerate(sizes):
            extent = size.node.expr if isinstance(size, SYMBOLIC) else sympy.Integer(size)
            unknown = [s for s in extent.free_symbols if not self._is_defined(s)]
            if len(unknown) == 1 and not extent.is_Symbol:
                extents.append(self._solve(extent, unknown[0], f"{name}_{axis}"))
            else:
                extents.append(self.convert(size))
        return extents

    def _solve(self, extent: Any, symbol: Any, name: str) -> Any:
        factor, rest = extent.coeff(symbol), extent.subs(symbol, 0)
        is_linear = sympy.simplify(extent - factor * symbol - rest) == 0
        if not (is_linear and factor.is_Integer and factor > 0 and rest.is_Integer):
            return self._expression(extent)
        variable = self.variables[name] = Var(name, INT64)
        self._solved[symbol] = floordiv(variable - int(rest), int(factor))
        self.largest[name] = (symbol, int(factor), int(rest))
        return variable

    def _is_defined(self, symbol: Any) -> bool:
        return symbol in self._solved or str(symbol) in self.variables

    def define(self, value: Any, meaning: Any) -> None:
        """Let a symbol of torch that no input has, such as a number of elements, mean `meaning`."""
        symbol = value.node.expr if isinstance(value, SYMBOLIC) else None
        if symbol is not None and symbol.is_Symbol and not self._is_defined(symbol):
            self._solved[symbol] = meaning

    def convert(self, value: Any) -> Any:
        """A number of torch, which may be symbolic, as a number or an expression.

        Raises:
            ArgumentValueError: for an operation on sizes that has no counterpart.
        """
        return self._expression(value.node.expr) if isinstance(value, SYMBOLIC) else value

    def shape(self, sizes: Sequence[Any]) -> list[Any]:
        """The extents of a tensor of torch."""
        return [self.convert(size) for size in sizes]

    def _expression(self, value: Any) -> Any:
        if value in self._solved:
            return self._solved[value]
        if isinstance(value, sympy.Symbol):
            return self.variable(str(value))
        if value.is_Integer:
            return const(int(value), INT64)
        if value.is_Float:
            return float(value)
        if value.func in _POWERS and value.args[1].is_Integer and value.args[1] > 0:
            factors = [self._expression(value.args[0])] * int(value.args[1])
            return functools.reduce(operator.mul, factors)
        operation = _OPERATIONS.get(value.func)
        if operation is None:
            raise ArgumentValueError(
                f"the size {value} has no counterpart: {value.func.__name__} is not supported"
            )
        return operation(*(self._expression(argument) for argument in value.args))
