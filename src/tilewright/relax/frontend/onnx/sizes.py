"""Dimensions with names, which are symbolic sizes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Var

LONGEST: Final = 200
"""Maximum number of characters of a size that is an expression."""

_OPERATIONS: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: floordiv, ast.Mod: floormod,
}  # fmt: skip


def identifier(text: str) -> str:
    """A text as a name of a program: other characters than letters and digits become ``_``."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


class Sizes:
    """The sizes of a model by their names."""

    def __init__(self) -> None:
        self.variables: dict[str, Var] = {}

    def variable(self, name: str) -> Var:
        """The size of a name."""
        known = identifier(name)
        if known not in self.variables:
            self.variables[known] = Var(known, INT64)
        return self.variables[known]

    def extent(self, size: int | str, owner: str) -> Any:
        """An extent that a model declares: a number, a name, or an expression such as ``2*n``.

        Raises:
            ArgumentValueError: for a number that no extent can be.
        """
        if isinstance(size, int):
            if not 0 <= size < 1 << 40:
                raise ArgumentValueError(f"{owner} has an extent of {size}")
            return size
        if size.isidentifier() or len(size) > LONGEST:
            return self.variable(size[:LONGEST])
        try:
            return self._expression(ast.parse(size, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return self.variable(size)  # any text may be a name

    def _expression(self, tree: ast.expr) -> Any:
        match tree:
            case ast.Name(id=name):
                return self.variable(name)
            case ast.Constant(value=int(value)) if 0 <= value < 1 << 40:
                return value
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return _OPERATIONS[type(operation)](self._expression(left), self._expression(right))
            case _:
                raise ValueError("it is another expression")
