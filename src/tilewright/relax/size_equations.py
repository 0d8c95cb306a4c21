"""Solving for the symbolic sizes of a signature: what they are for some arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.linear import Terms, collect
from tilewright.ir.expr import Expr, Var
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.tir.substitute import substitute


def solve_sizes(
    params: tuple[StructInfo, ...], arguments: Sequence[StructInfo], analyzer: Analyzer
) -> dict[Var, Expr]:
    """The symbolic sizes of a signature, as far as they follow from the arguments.

    Extents that are a size alone come first; then those with one unknown size, such as ``n + 1``,
    are solved for it.
    """
    equations: list[tuple[Expr, Expr]] = []
    for param, argument in zip(params, arguments, strict=True):
        _equations_of(param, argument, equations)
    sizes: dict[Var, Expr] = {}
    for pattern, value in equations:
        if isinstance(pattern, Var):
            sizes.setdefault(pattern, value)
    waiting = [pair for pair in equations if not isinstance(pair[0], Var)]
    while waiting:
        unsolved = []
        for pattern, value in waiting:
            unknown = [var for var in symbolic_vars_of(pattern) if var not in sizes]
            if len(unknown) == 1:
                solution = solve_linear(pattern, value, unknown[0], sizes, analyzer)
                if solution is not None:
                    sizes[unknown[0]] = solution
            elif unknown:
                unsolved.append((pattern, value))
        if len(unsolved) == len(waiting):
            break
        waiting = unsolved
    return sizes


def _equations_of(
    pattern: StructInfo, info: StructInfo, equations: list[tuple[Expr, Expr]]
) -> None:
    """The extents of the pattern with those of the value, where both are known."""
    pairs: Any = ()
    if isinstance(pattern, TensorStructInfo) and isinstance(info, TensorStructInfo):
        pairs = zip(pattern.extents or (), info.extents or (), strict=False)
    elif isinstance(pattern, ShapeStructInfo) and isinstance(info, ShapeStructInfo):
        pairs = zip(pattern.values or (), info.values or (), strict=False)
    elif isinstance(pattern, PrimStructInfo) and isinstance(info, PrimStructInfo):
        if pattern.value is not None and info.value is not None:
            pairs = ((pattern.value, info.value),)
    elif isinstance(pattern, TupleStructInfo) and isinstance(info, TupleStructInfo):
        for field, value in zip(pattern.fields, info.fields, strict=False):
            _equations_of(field, value, equations)
    equations.extend(pairs)


def solve_linear(
    pattern: Expr, value: Expr, unknown: Var, sizes: dict[Var, Expr], analyzer: Analyzer
) -> Expr | None:
    """The `unknown` for which `pattern`, in which all else is known, is `value`."""
    terms: Terms = {}
    constant = collect(analyzer.simplify(substitute(pattern, sizes)), 1, terms)
    factor = next((f for term, f in terms.items() if term is unknown), None)
    others = {term: -f for term, f in terms.items() if term is not unknown}
    if factor is None or any(var is unknown for term in others for var in symbolic_vars_of(term)):
        return None
    rest = analyzer.simplify(value + analyzer.simplified_sum(others, -constant, value.dtype))
    if factor in (1, -1):
        return analyzer.simplify(rest * factor)
    return analyzer.exact_quotient(rest, factor)
