"""Whether an access certainly leaves a box; isl decides where bounds of indices do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Call, Expr, Let, Var
from tilewright.tir.access import Iteration, Surroundings, iterations_of
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.example import sample_point, shown_sizes
from tilewright.tir.analysis.dependence.solver import answers, limited, read_set
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import LetStmt

Interval = tuple[Expr, Expr]
"""The first value, and the number of values."""

Box = Sequence[Interval]
"""An interval per dimension."""


LARGE: Final = 16
"""Sizes from which on a declared region has to be right."""


class Outside(NamedTuple):
    """An access that leaves a box.

    Attributes:
        element: the indices.
        iteration: the values of the variables around it, by name.
        sizes: the values of the sizes, by name.
    """

    element: tuple[int, ...]
    iteration: dict[str, int]
    sizes: dict[str, int]

    @property
    def where(self) -> str:
        """The iteration and the sizes, as ``i=7, n=8``; empty if there are none."""
        values = {**self.iteration, **self.sizes}
        return ", ".join(f"{name}={value}" for name, value in values.items())


def element_beyond(around: Surroundings, accessed: Box, shape: Sequence[Expr]) -> Outside | None:
    """An iteration that accesses a buffer outside of its shape, if there is one for certain.

    Where sizes are symbolic there must be one for all sizes with which the access runs at all. What
    is not affine, or depends on data, is not certain.
    """
    if not around.is_certain:
        return None
    question = _Question(around)
    if not question.runs_exactly():
        return None
    limits = [(None, extent) for extent in shape]
    found = _answer(question, accessed, (limits,), None)
    return None if isinstance(found, NotProved) else found


def element_missing(
    around: Surroundings, accessed: Box, declared: Sequence[Box], shape: Sequence[Expr]
) -> Outside | None:
    """An element of a buffer that may be accessed and that no declared box has.

    Conditions that depend on data may hold. What is not affine is taken to be covered. Where sizes
    are symbolic, there must be such an element for all sizes from `LARGE` on: of small ones, the
    caller may keep away.

    Args:
        around: the access.
        accessed: the elements that are accessed.
        declared: the boxes.
        shape: of the buffer; elements outside of it do not count.
    """
    question = _Question(around)
    if not question.may_run():
        return None
    found = _answer(question, accessed, declared, shape)
    return None if isinstance(found, NotProved) else found


class _Question:
    """The iterations that run, as text for isl, and what is to be found among them."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        runs = (item for node in around.definitions for item in iterations_of(node))
        self.iterations = {f"d{number}": item for number, item in enumerate(runs)}
        self.values = {
            node.var: node.value for node in around.definitions if isinstance(node, (LetStmt, Let))
        }
        scope: dict[Var, Any] = dict(self.values)
        scope.update((item.var, name) for name, item in self.iterations.items())
        self.affine = Affine(scope)
        self.conditions: list[str] = []
        self.vague: list[str] = []
        """Dimensions whose values are not known exactly."""

    def runs_exactly(self) -> bool:
        """Add all that decides whether the access runs; false if something is not affine."""
        affine = self.affine
        for name, item in self.iterations.items():
            self._domain(name, item)
            if item.binding is not None:
                self.conditions.append(f"{name} = {affine.text(item.binding)}")
            if not affine.exact:
                return False
        for condition, negated, _ in self.around.conditions:
            self.conditions.append(affine.formula(condition, negated))
            if not affine.exact:
                return False
        return True

    def may_run(self) -> bool:
        """Add what is known of when the access runs; false if a condition is not understood."""
        affine = self.affine
        for name, item in self.iterations.items():
            affine.exact = True
            self._domain(name, item)
            if not affine.exact:
                self.vague.append(name)
            if item.binding is not None:
                affine.exact = True
                value = affine.text(item.binding)
                if affine.exact:
                    self.conditions.append(f"{name} = {value}")
        for condition, negated, _ in self.around.conditions:
            affine.exact = True
            self.conditions.append(affine.formula(condition, negated))
            if not affine.exact and not self._mentions_data(condition):
                return False
        return True

    def _domain(self, name: str, item: Iteration) -> None:
        low, extent = self.affine.text(item.low), self.affine.text(item.extent)
        self.conditions.append(f"{low} <= {name} < {low} + {extent}")

    def _mentions_data(self, condition: Any) -> bool:
        """Whether a condition depends on what is in memory, or on what a call gives."""
        if condition in self.values:
            return self._mentions_data(self.values[condition])
        if isinstance(condition, BufferLoad):
            return True
        if isinstance(condition, Call) and getattr(condition.op, "name", "") not in _PURE:
            return True
        return any(map(self._mentions_data, condition.children()))

    def text(self, expr: Expr) -> str | None:
        """An expression; None if it is not affine."""
        affine = self.affine
        affine.exact = True
        text = affine.text(expr)
        if not affine.exact or any(re.search(rf"\b{name}\b", text) for name in self.vague):
            return None
        return text

    def element(self, accessed: Box) -> list[bool]:
        """Add an element of a box as further dimensions ``x0, ...``; whether each is known."""
        known = []
        for number, (low, extent) in enumerate(accessed):
            first, size = self.text(low), self.text(extent)
            known.append(first is not None and size is not None)
            self.conditions.append(
                f"{first} <= x{number} < {first} + {size}" if known[-1] else f"x{number} = 0"
            )
        return known

    def outside(self, box: Sequence[tuple[Expr | None, Expr]], known: Sequence[bool]) -> str:
        """That the element is not in a box, in a dimension where it is known."""
        ways = []
        for number, (low, extent) in enumerate(box):
            first = "0" if low is None else self.text(low)
            size = self.text(extent)
            if known[number] and first is not None:
                ways.append(f"x{number} < {first}")
                if size is not None:
                    ways.append(f"x{number} >= {first} + {size}")
        return f"({' or '.join(ways) or 'false'})"


@answers
def _answer(
    question: _Question,
    accessed: Box,
    boxes: Sequence[Sequence[tuple[Expr | None, Expr]]],
    shape: Sequence[Expr] | None,
) -> Outside | None:
    """An element outside of all boxes, and inside of `shape` if there is one."""
    names = list(question.iterations)
    known = question.element(accessed)
    names += [f"x{number}" for number in range(len(known))]
    running = list(question.conditions)
    wrong = [question.outside(box, known) for box in boxes]
    if any(way == "(false)" for way in wrong):
        return None
    if shape is not None:
        inside = [(n, question.text(extent)) for n, extent in enumerate(shape)]
        wrong += [f"0 <= x{n} < {text}" for n, text in inside if known[n] and text is not None]
    with limited():
        affine = question.affine
        found = _read(affine, affine.points(names, [*running, *wrong]))
        if found.is_empty():
            return None
        if affine.parameters:
            least = [] if shape is None else [f"{name} >= {LARGE}" for name in affine.parameters]
            runs = _read(affine, affine.points(names, [*running, *least]))
            if not runs.params().is_subset(found.params()):
                return None
        sample = sample_point(found)
    values = sample.first
    count = len(question.iterations)
    loops = {
        item.var.name: value
        for item, value in zip(question.iterations.values(), values, strict=False)
        if item.binding is None
    }
    return Outside(tuple(values[count:]), loops, shown_sizes(sample.sizes))


def _read(affine: Affine, points: str) -> Any:
    parameters = f"[{', '.join(affine.parameters)}] -> " if affine.parameters else ""
    return read_set(f"{parameters}{{ {points} }}")


_PURE: Final = ("tir.likely", "tir.if_then_else")
