"""Accesses that are outside of their buffers, whatever the arguments are."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

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
from tilewright.tir.analysis.access_walk import AccessWalk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, Stmt

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
        _Checker(func_or_mod.global_symbol or "main").visit(func_or_mod.body)
        return
    for var, function in func_or_mod.functions.items():
        if isinstance(function, PrimFunc):
            _Checker(var.name_hint).visit(function.body)


class _Checker(AccessWalk):
    """Looks at each index of a function."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.span: Span | None = None

    def visit(self, node: Any) -> None:
        if isinstance(node, Stmt) and node.span is not None:
            before, self.span = self.span, node.span
            super().visit(node)
            self.span = before
        else:
            super().visit(node)

    def BufferLoad(self, load: BufferLoad) -> None:
        self.visit_children(load)
        if load.predicate is None:
            self._access(load.buffer, load.indices, "read")

    def BufferStore(self, store: BufferStore) -> None:
        self.visit_children(store)
        if store.predicate is None:
            self._access(store.buffer, store.indices, "written")

    def BlockRealize(self, realize: BlockRealize) -> None:
        for value in realize.iter_values:
            self.visit(value)
        self.visit(realize.predicate)
        with self.where((realize.predicate, False)):
            self._bindings(realize)
        with self.instance(realize):
            self.visit(realize.block)

    def Block(self, block: Block) -> None:
        for match in block.match_buffers:
            source = match.source
            self._box(source.buffer, [(r.min, r.extent) for r in source.region], "matched", source)
        super().Block(block)

    # --- checks -----------------------------------------------------------------------------

    def _access(self, buffer: Buffer, indices: Sequence[Expr], verb: str) -> None:
        if not buffer.buffer_type:
            self._box(buffer, [(index, ONE) for index in indices], verb, None)

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

        found = element_beyond(self, box, buffer.shape)
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
            for item in self.iterations
        )

    def _are_guarded(self, intervals: Sequence[tuple[Expr, Expr, Expr]]) -> bool:
        """Whether the conditions show that intervals lie within dimensions."""
        simplifier = Simplifier()
        simplifier.facts = self.facts
        with ExitStack() as stack:
            for condition, negated in self.conditions:
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

            found = element_beyond(self, [(value - low, ONE)], [extent])
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
        if self.span is not None:
            line = linecache.getline(self.span.filename, self.span.line).strip()
            message += f"\n --> {self.span}" + (f"\n  | {line}" if line else "")
        error = BoundsError(message)
        error.span = self.span
        raise error
