"""Printing symbolic sizes: as strings in a signature, as variables everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm, SizeVar
from tilewright.relax.script.printer.state import GraphState
from tilewright.script.printer.core import Printer
from tilewright.tir.substitute import variables_of


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
