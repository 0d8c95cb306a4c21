"""Guards of tiles: where they are, when they hold for a whole tile, and where to ask that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.arith.linear import LinearForm
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import GE, GT, LE, LT, Call, CompareExpr, Expr, IntImm, Let, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore, For, ForKind, IfThenElse, LetStmt, Stmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import (
    affine,
    difference,
    split,
    to_expr,
)
from tilewright.tir.transform.analysis.ranges import conjuncts, without_likely
from tilewright.tir.transform.branches import may_divide_by_zero
from tilewright.tir.transform.building.statements import statements

WORTH_A_TEST = 32
"""A test that saves as many, one per statement of a tile, is cheap."""


class Guard(NamedTuple):
    """A part of a condition in a nest of loops."""

    part: Expr
    always: Expr
    """That it holds in all iterations of `loops`."""
    loops: tuple[For, ...]
    """The loops between where it is asked and the branch, the outermost first."""

    @property
    def varying(self) -> set[Var]:
        """The variables of `loops` that it depends on."""
        return {loop.loop_var for loop in self.loops} & set(variables_of(self.part))

    def becomes_mask(self) -> bool:
        """Whether the lanes of a vector differ in it."""
        varying = self.varying
        return any(
            loop.kind is ForKind.VECTORIZED and loop.loop_var in varying for loop in self.loops
        )

    def belongs_deeper(self) -> bool:
        """Whether it is better asked inside of some of `loops`: of smaller tiles, still cheaply.

        Never inside of a reduction, each step of which would ask again.
        """
        varying = self.varying
        passed = False
        for number, loop in enumerate(self.loops[:-1]):
            if is_reduction(loop):
                return False
            passed = passed or loop.loop_var in varying
            if passed and _executions(self.loops[number + 1 :]) >= WORTH_A_TEST:
                return True
        return False


def guards_in(nest: Stmt) -> Iterator[Guard]:
    """The guards of statements in `nest` that can be asked in front of it."""
    lets = {stmt.var for stmt in statements(nest) if isinstance(stmt, LetStmt)}

    def visit(stmt: Stmt, loops: tuple[For, ...]) -> Iterator[Guard]:
        if isinstance(stmt, For):
            loops = (*loops, stmt)
        elif isinstance(stmt, IfThenElse) and stmt.else_case is None:
            for part in conjuncts(stmt.condition):
                always = None if is_local(part, lets) else always_holds(part, loops)
                if always is not None:
                    yield Guard(part, always, loops)
        if not isinstance(stmt, BufferStore):
            for child in stmt.children():
                if isinstance(child, Stmt):
                    yield from visit(child, loops)

    return visit(nest, ())


def is_local(part: Expr, lets: set[Var]) -> bool:
    """Whether `part` cannot be asked outside: it reads memory, or a variable bound inside, or
    divides by what other conditions may keep from being zero."""
    return any(
        may_divide_by_zero(node)
        or isinstance(node, (BufferLoad, Let))
        or (isinstance(node, Call) and node is not part)
        or (isinstance(node, Var) and node in lets)
        for node in walk(part)
    )


def is_reduction(loop: For) -> bool:
    """Whether all iterations of `loop` store to the same places."""
    return not any(
        var is loop.loop_var
        for node in statements(loop.body)
        if isinstance(node, BufferStore)
        for var in variables_of(node.indices[0])
    )


def always_holds(part: Expr, loops: Sequence[For]) -> Expr | None:
    """The condition that the comparison `part` holds in all iterations of `loops`.

    None if that cannot be said: it is not a linear comparison of integers, or depends on a loop of
    variable extent.
    """
    condition = without_likely(part)
    if not isinstance(condition, (LT, LE, GT, GE)) or not condition.a.dtype.is_index:
        return None
    form = difference(condition.a, condition.b)
    largest = isinstance(condition, (LT, LE))
    inner = {loop.loop_var for loop in loops}
    for loop in loops:
        parts = split(form, loop.loop_var)
        if parts is None or not parts[0].is_constant():
            return None
        coefficient = parts[0].constant
        if not coefficient:
            continue
        if not isinstance(loop.extent, IntImm) or loop.extent.value < 1:
            return None
        end: Expr = loop.min
        if (coefficient > 0) is largest:
            end = as_expr(loop.min + (loop.extent.value - 1))
        if any(var in inner for var in variables_of(end)):
            return None
        form = parts[1].plus(affine(as_expr(cast(condition.a.dtype, end) * coefficient)))
    return _comparison(condition, form)


def _executions(loops: Sequence[For]) -> int:
    """How often the body of `loops` runs; the lanes of a vector run at once."""
    count = 1
    for loop in loops:
        if loop.kind is not ForKind.VECTORIZED:
            count *= loop.extent.value if isinstance(loop.extent, IntImm) else WORTH_A_TEST
    return count


def _comparison(like: CompareExpr, form: LinearForm) -> Expr:
    """`form ? 0`, with what is subtracted on the other side."""
    dtype = like.a.dtype
    left = {term: n for term, n in form.terms.items() if n > 0}
    right = {term: -n for term, n in form.terms.items() if n < 0}
    up, down = max(form.constant, 0), max(-form.constant, 0)
    a, b = to_expr(LinearForm(left, up), dtype), to_expr(LinearForm(right, down), dtype)
    return like.replace(a=a, b=b)
