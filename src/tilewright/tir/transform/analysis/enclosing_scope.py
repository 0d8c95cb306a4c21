"""What is known where a pass is: the ranges of loops, the conditions of branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tilewright.ir.expr import GE, GT, LE, LT, Call, Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, IfThenElse, Stmt
from tilewright.tir.transform.analysis.affine import Affine, add, difference
from tilewright.tir.transform.analysis.ranges import Ranges, conjuncts, without_likely


class Surroundings:
    """The loops and branches around a statement of `func`, as a pass walks down."""

    def __init__(self, func: PrimFunc) -> None:
        self._ranges = Ranges()
        self._not_negative: list[Affine] = []
        for buffer in func.buffer_map.values():
            for extent in buffer.shape:
                if isinstance(extent, Var):
                    self._ranges.not_negative(extent)

    def enter(self, loop: For) -> None:
        """Be inside of `loop` from now on. Its variable means nothing elsewhere."""
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)

    @contextmanager
    def where(self, condition: Expr) -> Iterator[None]:
        """Be where `condition` holds."""
        known = len(self._not_negative)
        for part in conjuncts(condition):
            form = _not_negative(without_likely(part))
            if form is not None:
                self._not_negative.append(form)
        try:
            yield
        finally:
            del self._not_negative[known:]

    def in_branches(self, stmt: IfThenElse, rewrite: Callable[[Stmt], Stmt]) -> IfThenElse:
        """A branch with its cases rewritten, the first where the condition holds."""
        with self.where(stmt.condition):
            taken = rewrite(stmt.then_case)
        other = None if stmt.else_case is None else rewrite(stmt.else_case)
        if taken is stmt.then_case and other is stmt.else_case:
            return stmt
        return stmt.replace(then_case=taken, else_case=other)

    def is_not_negative(self, form: Affine) -> bool:
        """Whether `form` is zero or more for certain."""
        return self._ranges.is_not_negative(form) or any(
            self._ranges.is_not_negative(add(form, known, -1)) for known in self._not_negative
        )


def _not_negative(condition: Expr) -> Affine | None:
    """What is zero or more where a comparison of integers holds; None for other conditions."""
    if not isinstance(condition, (LT, LE, GT, GE)):
        return None
    if not condition.a.dtype.is_int or condition.a.dtype.lanes != 1:
        return None
    if any(isinstance(node, (BufferLoad, Call)) for node in walk(condition)):
        return None  # it may have changed since
    if isinstance(condition, (LT, LE)):
        form = difference(condition.b, condition.a)
    else:
        form = difference(condition.a, condition.b)
    strict = isinstance(condition, (LT, GT))
    return form._replace(constant=form.constant - strict)
