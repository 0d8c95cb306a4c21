"""`Sketch`: one structure of schedules, with decisions to make."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.tir.schedule import Instruction, Schedule, Trace
from tilewright.tir.schedule.traces.instruction import random_variables
from tilewright.tir.schedule.traces.json_form import POSTPROC, plain_input
from tilewright.tune.decision import frozen, samplings

Key = tuple[Any, ...]
"""What tells a candidate from others: its sketch and its decisions."""


class Sketch:
    """A trace whose decisions are free.

    Args:
        number: which sketch of the task it is.
        trace: its trace, without postprocessing.
        is_default: whether it is the default schedule, to which no postprocessor is applied.

    Attributes:
        insts: its instructions.
        samplings: those that decide something.
    """

    def __init__(self, number: int, trace: Trace, is_default: bool = False) -> None:
        self.number = number
        self.is_default = is_default
        self.insts = trace.insts
        self.samplings = samplings(trace)
        self._own = set(self.insts)

    @property
    def undecided(self) -> Trace:
        """The trace without decisions."""
        return Trace(self.insts, {})

    def decided(self, decisions: Sequence[Any]) -> Trace:
        """The trace with decisions, one for each sampling."""
        return Trace(self.insts, dict(zip(self.samplings, decisions, strict=True)))

    def key(self, trace: Trace) -> Key:
        """What tells a trace of this sketch from others.

        A mutator may have replaced instructions; where it did, their arguments count.
        """
        changed = tuple(
            (position, repr(inst.attrs))
            for position, inst in enumerate(trace.kept(remove_postproc=True))
            if inst not in self._own
        )
        decisions = tuple(frozen(trace.get_decision(inst)) for inst in samplings(trace))
        return (self.number, decisions, changed)

    def adopted(self, form: Any) -> Trace | None:
        """The trace of a record as one of this sketch; None if it has another structure.

        Args:
            form: the JSON form of the trace.
        """
        insts, decisions = form
        own, _ = self.undecided.as_json()
        end = next((n for n, item in enumerate(insts) if item[0] == POSTPROC), len(insts))
        if end != len(own):
            return None
        adopted: list[Instruction] = []
        for inst, mine, other in zip(self.insts, own, insts, strict=False):
            matching = _matching(inst, mine, other)
            if matching is None:
                return None
            adopted.append(matching)
        values = {position: value for position, value in decisions if position < end}
        return Trace(adopted, {adopted[n]: value for n, value in values.items()})


def _matching(inst: Instruction, mine: list[Any], other: list[Any]) -> Instruction | None:
    """The instruction, or one with other numbers in an annotation; None for another one."""
    if mine == list(other):
        return inst
    name, inputs, attrs, _ = other
    if inst.kind.name != "annotate" or [name, *inputs[:1], attrs] != [mine[0], mine[1][0], mine[2]]:
        return None
    value = plain_input(inputs[1])
    if value is None or any(True for _ in random_variables(inst.arguments["ann_val"])):
        return None
    changed = {**inst.arguments, "ann_val": value}
    return Instruction.of(inst.kind, changed, inst.outputs, inst.returns_list)


class SketchBook:
    """The sketches of a space; those that only differ in their decisions are one.

    Args:
        default: the default schedule, if it is known.

    Attributes:
        sketches: the sketches.
    """

    def __init__(self, default: Schedule | None = None) -> None:
        self._default = default
        self.sketches: list[Sketch] = []
        self._by_structure: dict[tuple[str, bool], Sketch] = {}

    def add(self, sch: Schedule) -> tuple[Sketch, Trace]:
        """The sketch of a schedule, which is added if it is new, and its trace as one of it."""
        trace = sch.trace.simplified(remove_postproc=True)
        is_default = sch is self._default
        structure, decisions = _form(trace)
        key = None if structure is None else (structure, is_default)
        sketch = None if key is None else self._by_structure.get(key)
        if sketch is not None:
            values = {sketch.insts[position]: value for position, value in decisions}
            return sketch, Trace(sketch.insts, values)
        sketch = Sketch(len(self.sketches), trace, is_default)
        self.sketches.append(sketch)
        if key is not None:
            self._by_structure[key] = sketch
        return sketch, trace


def _form(trace: Trace) -> tuple[str | None, Sequence[Any]]:
    try:
        insts, decisions = trace.as_json()
        return json.dumps(insts), decisions
    except (ArgumentValueError, TypeError):
        return None, ()  # Arguments of other kinds: a sketch of its own.
