"""Loops that count the positions of a fused loop together.

After fusing and splitting loops of symbolic extents, no digit of ``o`` or ``i`` alone tells an
index of the block. Their position does, below the bound that the predicate has for it, if the last
tile is incomplete::

    for o, i in T.grid((n * m + 3) // 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(n, (o * 4 + i) // m)
            vj = T.axis.spatial(m, (o * 4 + i) % m)
            T.where(o * 4 + i < n * m)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.arith.facts import conjuncts
from tilewright.arith.iter_form import inverse_affine_iter_map, is_zero
from tilewright.arith.linear import mentions
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import LT, Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Range
from tilewright.tir.schedule.edits.bindings import conjunction
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tir.substitute import substitute, variables_of


def runs_other_instances(leaf: BlockRealize, loops: Sequence[For]) -> bool:
    """Whether each iteration of nested loops runs another instance of a block.

    Args:
        leaf: the block.
        loops: all loops around it in its scope, the outermost first.
    """
    variables = [loop.loop_var for loop in loops]
    if any(mentions(bound, variables) for loop in loops for bound in (loop.min, loop.extent)):
        return False
    analyzer = Analyzer()
    domains = {
        loop.loop_var: Range.from_min_extent(loop.min, analyzer.simplify(loop.extent))
        for loop in loops
    }
    values: list[Expr] = list(leaf.iter_values)
    bounds: list[LT] = []
    left: list[Expr] = []
    for part in conjuncts(leaf.predicate):
        if isinstance(part, LT) and not mentions(part.b, variables):
            bounds.append(part)
        else:
            left.append(part)
    for expr, extent in [(bound.a, bound.b) for bound in bounds] or [_all(domains)]:
        position = Var("position", expr.dtype)
        parts = _parts(expr, position, domains)
        if parts is None:
            left.append(as_expr(expr < extent))
            continue
        domain = Range.from_min_extent(const(0, position.dtype), extent)
        analyzer.bind(position, domain)
        domains = {var: dom for var, dom in domains.items() if var not in parts[-1]}
        domains[position] = domain
        values = [_in_terms_of(position, value, parts, analyzer) for value in values]
        left = [_in_terms_of(position, other, parts, analyzer) for other in left]
    return detect_iter_map(values, domains, conjunction(*left), require_bijective=True).is_affine


def _all(domains: Mapping[Var, Range]) -> tuple[Expr, Expr]:
    """The position in all loops, and its extent."""
    (first, dom), *others = domains.items()
    position, extent = as_expr(first - dom.min), dom.extent
    for var, dom in others:
        position = as_expr(position * dom.extent + (var - dom.min))
        extent = as_expr(extent * dom.extent)
    return position, extent


def _in_terms_of(
    position: Var, expr: Expr, parts: Sequence[Mapping[Var, Expr]], analyzer: Analyzer
) -> Expr:
    """The simplest form of `expr`; see `_parts`."""
    last, every = parts
    simplify = analyzer.simplify
    direct = simplify(substitute(expr, every))
    cancelled = simplify(substitute(simplify(substitute(expr, last)), every))

    def count(form: Expr) -> int:
        return sum(node is position for node in walk(form))

    return min(direct, cancelled, key=count)


def _parts(expr: Expr, position: Var, domains: Mapping[Var, Range]) -> list[dict[Var, Expr]] | None:
    """The variables of loops that count positions without gaps, in terms of the position.

    Args:
        expr: the position.
        position: a variable for it.
        domains: the loops.

    Returns:
        The innermost loop as what the outer ones leave of the position, by which they cancel in
        remainders that were simplified: ``(o * 3 + i) % 2`` to ``(o + i) % 2``; and all loops. None
        if `expr` is not a position of several loops.
    """
    counted = {var: domains[var] for var in variables_of(expr) if var in domains}
    found = detect_iter_map((expr,), counted, require_bijective=True)
    if len(counted) < 2 or not found.is_affine:
        return None
    total = found.indices[0]
    last = total.args[-1].source.source if total.args else None
    if not isinstance(last, Var) or not is_zero(total.base):
        return None
    rest = substitute(expr, {last: const(0, last.dtype)})
    parts = inverse_affine_iter_map(found.indices, [position])
    starts = {var: domains[var].min for var in counted}
    return [{last: position - rest}, {var: starts[var] + parts.get(var, 0) for var in counted}]
