"""Symbolic sizes: replacing them in struct info, what is known of them, and solving for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.linear import linear_form
from tilewright.ir.expr import Expr, IntImm, Mul, SizeVar, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.relax.expr import PrimValue, ShapeExpr
from tilewright.relax.expr import Var as GraphVar
from tilewright.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    extents_of,
)
from tilewright.te.tensor import extent_text
from tilewright.tir.substitute import substitute

LARGEST_SIZE = (1 << 63) - 1

UPPER_BOUNDS = "tir_var_upper_bound"
"""The attribute of a function with the largest values that its sizes may have, by their names."""


def symbolic_vars_of(root: Node) -> list[Var]:
    """The scalar variables below `root`, in order of appearance, each once."""
    found: dict[Var, None] = {}
    for node in walk(root):
        if isinstance(node, Var):
            found[node] = None
    return list(found)


def free_sizes_of(info: Node) -> list[Var]:
    """The symbolic sizes that struct info, or a shape, takes from around it.

    Those in the parameters of a function are the function's own.
    """
    found: dict[Var, None] = {}

    def visit(node: Node) -> None:
        if isinstance(node, FuncStructInfo):
            own = {size for param in node.params or () for size in symbolic_vars_of(param)}
            found.update((size, None) for size in free_sizes_of(node.ret) if size not in own)
        elif isinstance(node, Var):
            found[node] = None
        else:
            for child in node.children():
                visit(child)

    visit(info)
    return list(found)


def upper_bounds_of(
    attrs: Mapping[str, Any], sizes: Iterable[Var]
) -> Iterator[tuple[Var, int, str]]:
    """The sizes of a function with an upper bound, the bound, and a message.

    The message is a printf format of the size.
    """
    bounds = attrs.get(UPPER_BOUNDS, {})
    for size in sizes:
        if size.name in bounds:
            bound = int(bounds[size.name])
            yield size, bound, f"the size {size.name} is %lld, it can be at most {bound}"


def size_text(expr: Expr) -> str:
    """An expression of sizes as a person writes it: ``n * 2 + 1``."""
    return extent_text(expr)


def defined_sizes_of(info: StructInfo) -> list[Var]:
    """The symbolic sizes that a value of some struct info defines: those that stand alone."""
    found: dict[Var, None] = {}

    def visit(info: Any) -> None:
        if isinstance(info, (TensorStructInfo, ShapeStructInfo)):
            values = info.values if isinstance(info, ShapeStructInfo) else info.extents
            found.update((value, None) for value in values or () if isinstance(value, Var))
        elif isinstance(info, PrimStructInfo) and isinstance(info.value, Var):
            found[info.value] = None
        elif isinstance(info, TupleStructInfo):
            for field in info.fields:
                visit(field)

    visit(info)
    return list(found)


def extents_in(root: Node) -> list[Var]:
    """The symbolic sizes that are at least 0, because they or multiples of them are extents.

    Scalars may be negative, and so may sizes that only occur within other expressions.
    """
    found: dict[Var, None] = {}

    def visit(node: Node) -> None:
        if isinstance(node, (ShapeExpr, ShapeStructInfo)):
            for extent in node.values or ():
                factor = extent
                if isinstance(extent, Mul) and isinstance(extent.b, IntImm) and extent.b.value > 0:
                    factor = extent.a
                if isinstance(factor, Var):
                    found[factor] = None
        else:
            for child in node.children():
                visit(child)

    visit(root)
    return list(found)


def assume_sizes(analyzer: Analyzer, sizes: Iterable[Var]) -> None:
    """Make known that each of `sizes` is at least 0."""
    for size in sizes:
        if not isinstance(size, SizeVar):
            analyzer.bind_range(size, 0, LARGEST_SIZE)


class SizeSubstitution(Rewriter):
    """Replaces symbolic sizes in struct info and in shapes, and simplifies what changes.

    Graph variables stay as they are: what is known of them is said where they are bound.
    """

    def __init__(self, sizes: Mapping[Var, Expr], analyzer: Analyzer | None = None) -> None:
        self._sizes = sizes
        self._analyzer = analyzer or Analyzer()

    def scalar(self, expr: Expr) -> Expr:
        """A scalar expression with the sizes replaced."""
        changed = substitute(expr, self._sizes)
        return expr if changed is expr else self._analyzer.simplify(changed)

    def _scalars(self, values: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        changed = tuple(map(self.scalar, values))
        same = all(new is old for new, old in zip(changed, values, strict=True))
        return None if same else extents_of(changed)

    def ShapeExpr(self, shape: ShapeExpr) -> ShapeExpr:
        values = self._scalars(shape.values)
        return shape if values is None else ShapeExpr(values, None, shape.span)

    def ShapeStructInfo(self, info: ShapeStructInfo) -> ShapeStructInfo:
        values = None if info.values is None else self._scalars(info.values)
        return info if values is None else ShapeStructInfo(values, span=info.span)

    def PrimValue(self, value: PrimValue) -> PrimValue:
        changed = self.scalar(value.value)
        return value if changed is value.value else PrimValue(changed, None, value.span)

    def PrimStructInfo(self, info: PrimStructInfo) -> PrimStructInfo:
        changed = None if info.value is None else self.scalar(info.value)
        return info if changed is info.value else info.replace(value=changed)

    def RelaxVar(self, var: GraphVar) -> GraphVar:
        return var

    def DataflowVar(self, var: GraphVar) -> GraphVar:
        return var


def substitute_sizes(root: Any, sizes: Mapping[Var, Expr], analyzer: Analyzer | None = None) -> Any:
    """Struct info, or a shape, with symbolic sizes replaced by expressions."""
    return SizeSubstitution(sizes, analyzer)(root) if sizes else root


def solve_sizes(
    params: tuple[StructInfo, ...], arguments: Sequence[StructInfo], analyzer: Analyzer
) -> dict[Var, Expr]:
    """The symbolic sizes of a signature that follow from the arguments.

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
    terms, constant = linear_form(analyzer.simplify(substitute(pattern, sizes)))
    factor = next((f for term, f in terms.items() if term is unknown), None)
    others = {term: -f for term, f in terms.items() if term is not unknown}
    if factor is None or any(var is unknown for term in others for var in symbolic_vars_of(term)):
        return None
    rest = analyzer.simplify(value + analyzer.simplified_sum(others, -constant, value.dtype))
    if factor in (1, -1):
        return analyzer.simplify(rest * factor)
    return analyzer.exact_quotient(rest, factor)
