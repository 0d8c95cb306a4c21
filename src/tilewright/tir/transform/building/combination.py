"""Statements that combine the results of two parts of a reduction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import CommReducer
from tilewright.tir.stmt import BufferStore, LetStmt, Stmt, seq
from tilewright.tir.substitute import substitute


def store_into(element: BufferLoad, value: Expr) -> BufferStore:
    """Store a value into an element."""
    return BufferStore(element.buffer, value, element.indices)


def stores(elements: Iterable[BufferLoad], values: Iterable[Expr]) -> Stmt:
    """Store values into elements, one after the other."""
    return seq(store_into(*pair) for pair in zip(elements, values, strict=True))


def combination(
    combiner: CommReducer, targets: Sequence[BufferLoad], values: Sequence[Expr]
) -> Stmt:
    """Combine values into targets, all of which are read before one is stored."""
    operands = dict(zip((*combiner.lhs, *combiner.rhs), (*targets, *values), strict=True))
    results = [substitute(result, operands) for result in combiner.result]
    if len(targets) == 1:
        return stores(targets, results)
    names = [Var(f"v_{target.buffer.name}", target.dtype) for target in targets]
    body = stores(targets, names)
    for name, result in reversed(list(zip(names, results, strict=True))):
        body = LetStmt(name, result, body)
    return body
