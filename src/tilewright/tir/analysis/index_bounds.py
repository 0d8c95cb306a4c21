"""Accesses that are outside of their buffers, whatever the arguments are."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from tilewright.arith.bounds import bounds_of, linear_bounds
from tilewright.arith.facts import Facts
from tilewright.arith.linear import linear_form
from tilewright.arith.simplify import Simplifier
from tilewright.arith.simplify.logic import assuming
from tilewright.error import BoundsError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.module import IRModule
from tilewright.ir.node import Node, Span
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.structural import structural_equal
from tilewright.tir.access import (
    ANYWHERE,
    AccessKind,
    Surroundings,
    collect_accesses,
    iterations_of,
)
from tilewright.tir.access.bounds import KnownBounds
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BlockRealize, BufferStore, Stmt

ZERO: Final = const(0)
ONE: Final = const(1)


@deep_recursion
def check_bounds(func_or_mod: PrimFunc | IRModule) -> None:
    """Refuse accesses that are outside of their buffers in an iteration that certainly runs.

    Conditions around an access count. What depends on data, or is not affine, is not refused.

    Raises:
        BoundsError: with the access, the iteration, and the place in the source if it is known.
    """
    if isinstance(func_or_mod, PrimFunc):
        _Checker(func_or_mod, func_or_mod.global_symbol or "main").check()
        return
    for var, function in func_or_mod.functions.items():
        if isinstance(function, PrimFunc):
            _Checker(function, var.name_hint).check()


class _Checker:
    """Looks at each index of a function."""

    def __init__(self, function: PrimFunc, name: str) -> None:
        self.function, self.name = function, name
        self._bounds = KnownBounds()
        self._node: Node = function.body
        """What is looked at."""
        self._around = ANYWHERE

    def check(self) -> None:
        """Look at all of it.

        Raises:
            BoundsError: for an access outside of its buffer.
        """
        summary = collect_accesses(self.function.body, enter_blocks=True)
        for access in summary.accesses:
            node = access.node
            if access.kind is AccessKind.ADDRESS or access.buffer.buffer_type:
                continue  # the address one past the end is a legal one
            if isinstance(node, (BufferLoad, BufferStore)) and node.predicate is None:
                self._look_at(node, access.around)
                verb = "written" if access.is_write else "read"
                self._box(access.buffer, [(index, ONE) for index in access.indices], verb, None)
        for realize, around in summary.blocks:
            self._look_at(realize, around.in_block(realize))
            for match in realize.block.match_buffers:
                source = match.source
                box = [(item.min, item.extent) for item in source.region]
                self._box(source.buffer, box, "matched", source)
            self._look_at(realize, around._replace(conditions=self._around.conditions))
            self._bindings(realize)

    def _look_at(self, node: Node, around: Surroundings) -> None:
        self._node, self._around = node, around
        self.facts = self._bounds.at(around)

    # --- checks -----------------------------------------------------------------------------

    def _box(
        self,
        buffer: Buffer,
        box: Sequence[tuple[Expr, Expr]],
        verb: str,
        matched: Node | None,
    ) -> None:
        doubtful = [
            (low, extent, size)
            for (low, extent), size in zip(box, buffer.shape, strict=False)
            if not self._is_inside(low, extent, size)
        ]
        if not doubtful or self._are_guarded(doubtful):
            return
        from tilewright.tir.analysis.elements_outside import element_beyond

        found = element_beyond(self._around, box, buffer.shape)
        if found is None:
            return
        shape = ", ".join(map(str, buffer.shape)) + ("," if len(box) == 1 else "")
        element = f"{buffer.name}[{', '.join(map(str, found.element))}]"
        written = repr(matched) if matched else ", ".join(repr(low) for low, _ in box)
        text = written if matched else f"{buffer.name}[{written}]"
        self._refuse(f"{text} is {verb} outside of its shape ({shape})", element, found.where)

    def _is_inside(self, low: Expr, extent: Expr, size: Expr) -> bool:
        """Whether an interval shows quickly to lie within a dimension."""
        first, last = bounds_of(self.facts, low)
        if first >= 0 and isinstance(size, IntImm):
            return last + bounds_of(self.facts, extent)[1] <= size.value
        if first < 0 or extent is not ONE or not isinstance(low, Var):
            return False
        return any(
            item.var is low
            and (item.extent is size or structural_equal(item.extent, size))
            and isinstance(item.low, IntImm)
            and item.low.value == 0
            for node in self._around.definitions
            for item in iterations_of(node)
        )

    def _are_guarded(self, intervals: Sequence[tuple[Expr, Expr, Expr]]) -> bool:
        """Whether the conditions show that intervals lie within dimensions."""
        simplifier = Simplifier()
        simplifier.facts = self.facts
        with ExitStack() as stack:
            for condition, negated, _ in self._around.conditions:
                if not negated and condition.__class__ is not IntImm:
                    stack.enter_context(assuming(simplifier, condition))
            return simplifier.facts is not self.facts and all(
                self._lies_within(simplifier.facts, *interval) for interval in intervals
            )

    def _lies_within(self, facts: Facts, low: Expr, extent: Expr, size: Expr) -> bool:
        if not isinstance(size, IntImm) or not isinstance(extent, IntImm):
            return False
        if low.dtype.lanes != 1:
            return False
        first, last = linear_bounds(facts, *linear_form(low))
        return first >= 0 and last + extent.value <= size.value

    def _bindings(self, realize: BlockRealize) -> None:
        block = realize.block
        for item, value in zip(block.iter_vars, realize.iter_values, strict=False):
            if item.dom is None:
                continue
            first, last = bounds_of(self.facts, value)
            low, extent = item.dom.min, item.dom.extent
            if isinstance(low, IntImm) and isinstance(extent, IntImm):
                if low.value <= first and last < low.value + extent.value:
                    continue
            elif self._is_inside(value, ONE, extent):
                continue
            from tilewright.tir.analysis.elements_outside import element_beyond

            found = element_beyond(self._around, [(value - low, ONE)], [extent])
            if found is not None:
                number = found.element[0]
                domain = f"{item.dom.extent}"
                if not (isinstance(low, IntImm) and low.value == 0):
                    domain = f"{domain} from {low} on"
                    number += low.value if isinstance(low, IntImm) else 0
                self._refuse(
                    f"iterator {item.var.name} of block {block.name_hint} is bound to {value!r}, "
                    f"outside of its domain of {domain}",
                    f"{item.var.name} = {number}",
                    found.where,
                )

    def _refuse(self, rule: str, element: str, where: str) -> None:
        example = f": {element} at {where}" if where else f": {element}"
        message = f"{self.name}: {rule}{example}"
        span = _span_of(self._node, self.function.body)
        if span is not None:
            line = linecache.getline(span.filename, span.line).strip()
            message += f"\n --> {span}" + (f"\n  | {line}" if line else "")
        error = BoundsError(message)
        error.span = span
        raise error


def _span_of(node: Node, root: Node) -> Span | None:
    """The place in the source of the innermost statement around a node of a function."""
    stack: list[tuple[Node, Span | None]] = [(root, None)]
    while stack:
        found, span = stack.pop()
        if isinstance(found, Stmt) and found.span is not None:
            span = found.span
        if found is node:
            return span
        stack += [(child, span) for child in found.children()]
    return None
