"""The state of one printing of graphs, and the printing of symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm, SizeVar, Var
from tilewright.relax.expr import Constant
from tilewright.relax.script.metadata import CONSTANTS, OMITTED_COMMENT, metadata_text
from tilewright.script.printer.core import Printer
from tilewright.tir.substitute import variables_of


class GraphState:
    """The state of one printing of graphs.

    Attributes:
        in_signature: whether the signature of a function is printed, where symbolic sizes are
            written as strings.
        depth: how many functions are open.
        mentioned: symbolic sizes that the body of the innermost function mentions so far, in order.
    """

    def __init__(self, p: Printer) -> None:
        self._p = p
        self.in_signature = False
        self.depth = 0
        self.mentioned: dict[Var, None] = {}
        self._positions: dict[int, int] = {}
        self._constants: list[Constant] = []

    @contextmanager
    def signature(self) -> Iterator[None]:
        """Where the signature of a function is printed."""
        before, self.in_signature = self.in_signature, True
        try:
            yield
        finally:
            self.in_signature = before

    @contextmanager
    def function(self) -> Iterator[None]:
        """Where a function is printed, which has sizes of its own."""
        before, self.mentioned = self.mentioned, {}
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            self.mentioned = before

    def mention(self, variable: Var) -> None:
        """Note a use of a symbolic size; outside of functions it is declared at once."""
        p = self._p
        if p.names.find(variable) is None:
            name = p.names.define(variable, variable.name)
            if not self.depth:
                p.before(f"{name} = {p.new_var(variable)}")
        self.mentioned[variable] = None

    def constant(self, constant: Constant) -> str:
        """The text that stands for an array, whose elements are apart from the program."""
        if not self._constants:
            self._p.finishers.append(self._finish)
        position = self._positions.get(id(constant))
        if position is None:
            position = self._positions[id(constant)] = len(self._constants)
            self._constants.append(constant)
        return f'metadata["{CONSTANTS}"][{position}]'

    def _finish(self, lines: list[str]) -> list[str]:
        p = self._p
        if not p.options.show_meta:
            return [*lines, OMITTED_COMMENT]
        return [f"metadata = {metadata_text(p.options.relax_prefix, self._constants)}", "", *lines]


def size(p: Printer, extent: Expr) -> str:
    """The text of an extent; a number is one of int64 by itself."""
    if isinstance(extent, IntImm) and extent.dtype is INT64:
        return p.mark(extent, str(extent.value))
    return scalar(p, extent)


def sizes(p: Printer, extents: Any) -> list[str]:
    """The texts of several extents."""
    return [size(p, extent) for extent in extents]


def scalar(p: Printer, expr: Expr) -> str:
    """The text of a scalar that is part of a graph, such as one of a `R.prim_value`."""
    state = p.state(GraphState)
    variables = variables_of(expr)
    if not state.in_signature:
        for variable in variables:
            state.mention(variable)
    with _bare_sizes(p):
        text = p.expr(expr)
    if not (state.in_signature and variables):
        return text
    for variable in variables:
        if isinstance(variable, SizeVar):  # a string alone would define a plain variable
            state.mention(variable)
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"


@contextmanager
def _bare_sizes(p: Printer) -> Iterator[None]:
    before, p.bare_dtype = p.bare_dtype, INT64
    try:
        yield
    finally:
        p.bare_dtype = before
