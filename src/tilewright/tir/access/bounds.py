"""Constant bounds of the variables around accesses."""

from __future__ import annotations

from tilewright.arith.bounds import bounds_of
from tilewright.arith.facts import Facts
from tilewright.ir.expr import Let, Var
from tilewright.tir.access.access import Definition, Surroundings, iterations_of
from tilewright.tir.stmt import LetStmt


class KnownBounds:
    """Learns the bounds of variables from place to place, in the order of the program."""

    def __init__(self) -> None:
        self._facts = Facts()
        self._definitions: tuple[Definition, ...] = ()
        self._known: dict[Var, Definition] = {}

    def at(self, around: Surroundings) -> Facts:
        """What is known at a place, until the next question."""
        if around.definitions is not self._definitions:
            self._definitions = around.definitions
            for node in around.definitions:
                self._learn_all(node)
        return self._facts

    def _learn_all(self, node: Definition) -> None:
        facts = self._facts
        if isinstance(node, (LetStmt, Let)):
            if node.var.dtype.is_integral and self._is_new(node.var, node):
                self._learn(node.var, bounds_of(facts, node.value))
            return
        for var, low, extent, _ in iterations_of(node):
            if self._is_new(var, node):
                first, last = bounds_of(facts, low)
                self._learn(var, (first, last + bounds_of(facts, extent)[1] - 1))

    def _is_new(self, var: Var, node: Definition) -> bool:
        known, self._known[var] = self._known.get(var), node
        return known is not node

    def _learn(self, var: Var, bounds: tuple[int, int]) -> None:
        facts = self._facts
        known = facts.ranges.get(var)
        if known != bounds:
            if known is not None or var in facts.unknown:
                facts.forget()
            facts.ranges[var] = bounds
