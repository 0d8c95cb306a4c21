"""Whether a piece of program reads only what it has written itself.

The program is visited in the order in which it runs, with a list of what is certainly written
before the current place: boxes of elements, each with the loops over which it extends. A store adds
one element; at the end of a loop, its elements extend over that loop. A load must lie in one of the
boxes. What cannot be proved is taken to be read from elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.linear import mentions
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, LetStmt, Stmt, While
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.transform.analysis.exact_boxes import Box, exact_box, join_boxes, scalar_indices
from tilewright.tir.transform.analysis.parts_of_boxes import PartOfBox, part_of_box
from tilewright.tir.transform.analysis.symbolic_min_max import at_most
from tilewright.tir.transform.building.scoped_visitor import Loop, ScopedVisitor, is_fixed, negation

MOST_JOINED = 6
"""How many boxes are tried in pairs, the last ones that were written."""


def defines_what_it_reads(body: Stmt, buffer: Buffer, analyzer: Analyzer) -> bool:
    """Whether each element of `buffer` that `body` reads has been written by `body` before.

    `body` is made of loops over buffers, and uses the memory of `buffer` through `buffer` only;
    `analyzer` knows the variables that it does not bind.
    """
    visitor = _Definitions(buffer, analyzer)
    try:
        visitor.visit(body)
    except _UndefinedError:
        return False
    return True


class _UndefinedError(Exception):
    """An element is read that may not have been written."""


class _Written(NamedTuple):
    """Elements that are certainly written."""

    indices: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    """The loops that have run since, outermost last."""
    conditions: tuple[Expr, ...]
    """Where they hold, the elements are written."""

    def same_elements(self, other: _Written) -> bool:
        """Whether the two are known to be the same elements."""
        pairs = zip(self.indices, other.indices, strict=True)
        plain = not (self.loops or other.loops or self.conditions or other.conditions)
        return plain and all(structural_equal(a, b) for a, b in pairs)

    def mentions(self, var: Var) -> bool:
        """Whether anything about the elements depends on `var`."""
        ends = (end for loop in self.loops for end in (loop.minimum, loop.extent))
        return any(mentions(expr, (var,)) for expr in (*self.indices, *self.conditions, *ends))


class _Definitions(ScopedVisitor):
    def __init__(self, buffer: Buffer, analyzer: Analyzer) -> None:
        ScopedVisitor.__init__(self, analyzer)
        self._buffer = buffer
        self._written: list[_Written] = []
        self._boxes: dict[tuple[_Written, tuple[Expr, ...]], Box | PartOfBox | None] = {}
        """Of what is written, by that and what holds where it is asked for."""

    # --- writes -----------------------------------------------------------------------------

    def BufferStore(self, store: BufferStore) -> None:
        self.visit_children(store)
        if store.buffer is not self._buffer or store.predicate is not None:
            return
        lane = Var("lane", INT32)
        scalar = scalar_indices(map(self.resolved, store.indices), lane)
        if scalar is None or not all(map(is_fixed, scalar[0])):
            return
        indices, lanes = scalar
        loops = (Loop(lane, const(0), const(lanes), const(lanes - 1), True),) if lanes > 1 else ()
        self._written.append(_Written(indices, loops, ()))

    def visit_body(self, loop: Loop, body: Stmt) -> None:
        count = len(self._written)
        self.visit(body)
        inside = self._taken(count)
        if is_fixed(loop.minimum) and is_fixed(loop.extent):
            self._written += (w._replace(loops=(*w.loops, loop)) for w in inside)

    def visit_branches(self, condition: Expr, then_case: Node, else_case: Node | None) -> None:
        parts, then_written = self._branch_written(condition, then_case)
        else_written: list[_Written] = []
        if else_case is not None:
            else_written = self._branch_written(negation(condition), else_case)[1]
        for written in then_written:
            in_both = any(written.same_elements(other) for other in else_written)
            if in_both or self._happens_first(written, parts):
                self._written.append(written)
            elif all(map(is_fixed, parts)):
                self._written.append(written._replace(conditions=(*written.conditions, *parts)))

    def _branch_written(
        self, condition: Expr, case: Node
    ) -> tuple[tuple[Expr, ...], list[_Written]]:
        """The parts of the condition, and what is written where all of them hold."""
        known, count = len(self.conditions), len(self._written)
        with self.assuming(condition):
            parts = tuple(self.conditions[known:])
            self.visit(case)
        return parts, self._taken(count)

    def _happens_first(self, written: _Written, parts: tuple[Expr, ...]) -> bool:
        """Whether `written`, which happens where all of `parts` hold, happens in the first
        iteration of some loops around, and is the same in all of their iterations."""
        mentioned = {var for part in parts for var in variables_of(part)}
        outermost = next((k for k, lp in enumerate(self.loops) if lp.var in mentioned), None)
        if outermost is None:
            return False
        inner = self.loops[outermost:]
        first = {loop.var: loop.minimum for loop in inner if loop.var in mentioned}
        if any(loop.var in first and not loop.in_order for loop in inner):
            return False
        ends = (end for loop in inner for end in (loop.minimum, loop.extent))
        others = (*ends, *self.conditions)
        if any(mentions(expr, first) for expr in others) or any(map(written.mentions, first)):
            return False
        if not all(is_fixed(expr) and not mentions(expr, self.unknown) for expr in others):
            return False
        if any(map(written.mentions, self.unknown)) or not all(map(is_fixed, parts)):
            return False
        return all(self.analyzer.can_prove(substitute(part, first)) for part in parts)

    def LetStmt(self, let: LetStmt | Let) -> None:
        ScopedVisitor.LetStmt(self, let)
        self._written = [w for w in self._written if not w.mentions(let.var)]

    Let = LetStmt

    def While(self, stmt: While) -> None:
        count, loops = len(self._written), self.loops
        # What happens first in a loop around need not happen in the first iteration of this one.
        self.loops = []
        self.visit_children(stmt)
        self.loops = loops
        self._taken(count)

    def _taken(self, count: int) -> list[_Written]:
        """What was written since there were `count` entries, which are all that is left."""
        found = self._written[count:]
        del self._written[count:]
        return found

    # --- reads ------------------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> None:
        self.visit_children(load)
        if load.buffer is not self._buffer:
            return
        values = self._values_of(load)
        if not self._is_written(values, [c for c in self.conditions if is_fixed(c)]):
            raise _UndefinedError

    def _values_of(self, load: BufferLoad) -> list[tuple[Expr, Expr]]:
        """For each index, the least and the greatest value, which may be the same expression."""
        lane = Var("lane", INT32)
        scalar = scalar_indices(map(self.resolved, load.indices), lane)
        whole = [(const(0, n.dtype), n - 1) for n in load.buffer.shape]
        if scalar is None:
            return whole
        indices, lanes = scalar
        self.analyzer.bind_range(lane, 0, lanes)
        return [
            (index, index) if is_fixed(index) else values
            for index, values in zip(indices, whole, strict=True)
        ]

    def _is_written(self, values: list[tuple[Expr, Expr]], conditions: list[Expr]) -> bool:
        """Whether all elements with these indices are written, where all conditions hold."""
        if conditions:
            with self.analyzer.constraint(conditions[0]):
                return self._is_written(values, conditions[1:])
        boxes: list[Box] = []
        known = tuple(self.conditions)
        for written in reversed(self._written):
            if (written, known) not in self._boxes:
                self._boxes[written, known] = self._box(written)
            box = self._boxes[written, known]
            if box is None:
                continue
            if isinstance(box, PartOfBox):
                if self._is_in_part(box, values):
                    return True
            elif self._contains(box, values):
                return True
            else:
                boxes.append(box)
        joined = join_boxes(boxes[:MOST_JOINED], self.analyzer)
        return any(self._contains(box, values) for box in joined)

    def _box(self, written: _Written) -> Box | PartOfBox | None:
        """What is written, if that is a box, or a part of one, that is written for certain."""
        running = [loop.var for loop in written.loops]
        inner = [c for c in written.conditions if mentions(c, running)]
        outer = [c for c in written.conditions if not mentions(c, running)]
        if not all(map(self.analyzer.can_prove, outer)):
            return None
        box = exact_box(written.indices, written.loops, inner, self.analyzer)
        if box is None and inner:
            return part_of_box(written.indices, written.loops, inner, self.analyzer)
        return box

    def _is_in_part(self, part: PartOfBox, values: list[tuple[Expr, Expr]]) -> bool:
        indices = [least for least, greatest in values if least is greatest]
        if len(indices) < len(values) or not self._contains(part.box, values):
            return False
        return all(map(self.analyzer.can_prove, part.conditions_for(indices)))

    def _contains(self, box: Box, values: list[tuple[Expr, Expr]]) -> bool:
        return all(
            all(at_most(low, least, self.analyzer) for low in side.lows)
            and all(at_most(greatest, high, self.analyzer) for high in side.highs)
            for side, (least, greatest) in zip(box, values, strict=True)
        )
