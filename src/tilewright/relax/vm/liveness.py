"""Liveness: the last use of each variable, and of each slot."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.relax.expr import Call, DataflowVar, Function, If, RelaxExpr, SeqExpr, Var
from tilewright.relax.vm.steps import ReleaseStep, Step, in_order, slots_of


class Liveness:
    """Positions of the calls of a function, and of the last uses of its variables.

    Memory may be overwritten by a call at the position of its last use.

    Attributes:
        last_use: the position of the last use of each variable.
        position: the position of each call, by `id`.
    """

    def __init__(self, function: Function) -> None:
        self.last_use: dict[Var, int] = {}
        self.position: dict[int, int] = {}
        self._count = 0
        self._visit(function.body)

    def _visit(self, expr: RelaxExpr) -> None:
        if isinstance(expr, SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    self._visit(binding.value)
                    self._count += 1
            self._visit(expr.body)
        elif isinstance(expr, (Var, DataflowVar)):
            self.last_use[expr] = self._count
        elif isinstance(expr, If):
            self._visit(expr.cond)
            self._count += 1
            self._visit(expr.true_branch)
            self._visit(expr.false_branch)
            self._count += 1
        else:
            if isinstance(expr, Call):
                self.position[id(expr)] = self._count
            for child in expr.children():
                if isinstance(child, RelaxExpr):
                    self._visit(child)


def with_releases(steps: Sequence[Step], returned: set[int]) -> list[Step]:
    """`steps`, with a `ReleaseStep` after the last use of each slot.

    Args:
        steps: the steps of a function.
        returned: slots of the returned values, which are not released.
    """
    last: dict[int, int] = {}
    for position, step in enumerate(steps):
        for part in in_order([step]):
            last.update((slot, position) for slot in slots_of(part) if slot not in returned)
    at: dict[int, list[int]] = {}
    for slot, position in last.items():
        at.setdefault(position, []).append(slot)
    result: list[Step] = []
    for position, step in enumerate(steps):
        result.append(step)
        if position in at and position != len(steps) - 1:
            result.append(ReleaseStep(tuple(sorted(at[position]))))
    return result
