"""The boxes of elements that programs access in the memory that they allocate.

Each box is in terms of the variables outside of the allocation, with bounds found by interval
arithmetic: all accesses are inside, but not every element need be accessed.
"""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet, interval_of
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore
from tilewright.tir.transform.analysis.exact_boxes import bounds_by_condition
from tilewright.tir.transform.analysis.symbolic_min_max import at_most
from tilewright.tir.transform.building.scoped_visitor import ScopedVisitor, is_fixed

Sides = tuple[IntervalSet, ...]
"""The values of each index."""


class AccessedBoxes(ScopedVisitor):
    """Finds for each allocation, as it is left, what is accessed.

    Subclasses say in `leave` what to do with it.
    """

    def __init__(self) -> None:
        ScopedVisitor.__init__(self, Analyzer())
        self._scopes: dict[Var, _Scope] = {}

    def leave(self, stmt: Allocate, sides: Sides | None) -> None:
        """All accesses of the memory of `stmt` are within `sides`; None if there is none."""
        raise NotImplementedError

    def _allocation(self, stmt: Allocate) -> None:
        scope = self._scopes[stmt.buffer_var] = _Scope(len(self.loops), len(self.unknown))
        self.visit_children(stmt)
        del self._scopes[stmt.buffer_var]
        self.leave(stmt, scope.sides)

    def _access(self, access: BufferLoad | BufferStore) -> None:
        self.visit_children(access)
        scope = self._scopes.get(access.buffer.data)
        if scope is None:
            return
        domains = self._domains(scope)
        sides = tuple(self._sides_of(self.resolved(index), domains) for index in access.indices)
        if scope.sides is not None:
            sides = tuple(map(self._hull, scope.sides, sides))
        scope.sides = sides

    def _domains(self, scope: _Scope) -> dict[Var, IntervalSet]:
        """The values of what runs inside of the allocation."""
        domains = dict.fromkeys(self.unknown[scope.unknown :], EVERYTHING)
        for loop in self.loops[scope.loops :]:
            values = EVERYTHING
            if isinstance(loop.minimum, IntImm) and isinstance(loop.last, IntImm):
                values = IntervalSet(loop.minimum, loop.last)
            elif is_fixed(loop.minimum) and is_fixed(loop.extent):
                low = interval_of(loop.minimum, domains, self.analyzer)
                high = interval_of(loop.last, domains, self.analyzer)
                values = IntervalSet(low.min_value, high.max_value)
            domains[loop.var] = values
        return domains

    def _sides_of(self, index: Expr, domains: dict[Var, IntervalSet]) -> IntervalSet:
        if not is_fixed(index):
            return EVERYTHING
        low, high = interval_of(index, domains, self.analyzer)
        inside = list(domains)
        for condition in filter(is_fixed, self.conditions):
            lows, highs = bounds_by_condition(index, condition, inside)
            for bound in lows:
                low = bound if low is None or self._at_most(low, bound) else low
            for bound in highs:
                high = bound if high is None or self._at_most(bound, high) else high
        return IntervalSet(low, high)

    def _hull(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        """The smallest interval around both, unbounded where the ends cannot be ordered."""
        return IntervalSet(
            self._first(a.min_value, b.min_value), self._first(a.max_value, b.max_value, last=True)
        )

    def _first(self, a: Expr | None, b: Expr | None, *, last: bool = False) -> Expr | None:
        """The least of two ends, or the greatest."""
        if a is None or b is None or structural_equal(a, b):
            return None if b is None else a
        for one, other in ((a, b), (b, a)):
            if self._at_most(other, one) if last else self._at_most(one, other):
                return one
        return None

    def _at_most(self, small: Expr, large: Expr) -> bool:
        return at_most(small, large, self.analyzer)


class _Scope:
    """An allocation that the visitor is in."""

    def __init__(self, loops: int, unknown: int) -> None:
        self.loops = loops
        """How many loops are outside."""
        self.unknown = unknown
        """How many variables of `let` with unknown values are outside."""
        self.sides: Sides | None = None


AccessedBoxes._handlers = {
    **ScopedVisitor._handlers,
    Allocate: AccessedBoxes._allocation,
    BufferLoad: AccessedBoxes._access,
    BufferStore: AccessedBoxes._access,
}
