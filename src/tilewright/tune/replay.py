"""Applying traces to programs."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import Any

from tilewright.error import RecordError, TVMError
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Instruction, Schedule, Trace
from tilewright.tir.schedule.traces.renaming import about
from tilewright.tune.decision import frozen

_Prefix = tuple[tuple[Instruction, ...], tuple[Any, ...]]
"""Instructions, and the decisions of those that sample."""


class Replayer:
    """Applies traces to a program.

    Args:
        mod: the program.
        checked: whether each step is proved to keep the meaning of the program.
        capacity: maximum number of kept schedules.
    """

    def __init__(self, mod: IRModule, *, checked: bool = False, capacity: int = 4096) -> None:
        self._start = Schedule(
            marked_as_scheduled(mod),
            seed=1,
            enable_check=checked,
            error_render_level="fast" if checked else "none",
        )
        self._capacity = capacity
        self._kept: OrderedDict[_Prefix, Schedule] = OrderedDict()

    def replay(self, trace: Trace, seed: int = 1) -> Schedule:
        """The program with a trace applied up to `enter_postproc`.

        A decision that is not possible where it is to be made is replaced by a random one; so is a
        missing one.

        Args:
            trace: the trace; instructions that it shares with other traces are the same objects.
            seed: of the random decisions.

        Raises:
            TVMError: if an instruction does not apply.
        """
        insts = tuple(trace.kept(remove_postproc=True))
        position, decided, sch = self._longest_prefix(insts, trace)
        sch.seed(seed)
        for inst in insts[position:]:
            if not inst.kind.primitive.is_sampling:
                sch.apply_instruction(inst)
                continue
            if len(sch.trace) > position:
                self._keep((insts[: len(sch.trace)], tuple(decided)), sch)
            _decide(sch, inst, trace.get_decision(inst))
            decided.append(frozen(sch.trace.get_decision(inst)))
        return sch

    def before(self, trace: Trace, inst: Instruction) -> Schedule:
        """The program with what is before `inst` in a trace applied."""
        insts = trace.insts
        position = [own is inst for own in insts].index(True)
        return self.replay(Trace(insts[:position], trace.decisions))

    def _longest_prefix(
        self, insts: tuple[Instruction, ...], trace: Trace
    ) -> tuple[int, list[Any], Schedule]:
        wanted: list[Any] = []
        positions: list[int] = []
        for position, inst in enumerate(insts):
            if inst.kind.primitive.is_sampling:
                positions.append(position)
                wanted.append(frozen(trace.get_decision(inst)))
        for count in range(len(positions) - 1, -1, -1):
            prefix = (insts[: positions[count]], tuple(wanted[:count]))
            found = self._kept.get(prefix)
            if found is not None:
                self._kept.move_to_end(prefix)
                return positions[count], wanted[:count], found.copy()
        return 0, [], self._start.copy()

    def _keep(self, prefix: _Prefix, sch: Schedule) -> None:
        self._kept[prefix] = sch.copy()
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)


def _decide(sch: Schedule, inst: Instruction, decision: Any) -> None:
    if decision is not None:
        try:
            sch.apply_instruction(inst, decision)
            return
        except TVMError:
            # What is possible depends on earlier decisions, one of which has changed.
            pass
    sch.apply_instruction(inst)


def replayed(trace: Any, mod: IRModule, *, enable_check: bool = True) -> Schedule:
    """A schedule of `mod` with a trace applied.

    Args:
        trace: in its JSON form.
        mod: the program. If it has one function, the trace is about that one, whatever it was
            called where the trace was made.
        enable_check: prove that each step keeps the program's meaning.

    Raises:
        RecordError: if the trace does not apply.
    """
    start = marked_as_scheduled(mod)
    sch = Schedule(start, enable_check=enable_check, error_render_level="fast")
    names = [var.name_hint for var, func in mod.functions.items() if isinstance(func, PrimFunc)]
    apply_trace(trace, sch, names[0] if len(names) == 1 else None)
    return sch


def apply_trace(trace: Any, sch: Schedule, func_name: str | None = None) -> None:
    """Apply a trace to a schedule.

    Args:
        trace: in its JSON form.
        sch: the schedule.
        func_name: the function that the trace is about here; None for those that it names.

    Raises:
        RecordError: if it does not apply.
    """
    try:
        form = trace if func_name is None else about(trace, func_name)
        Trace.apply_json_to_schedule(form, sch)
    except (TVMError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise RecordError(f"the trace of a record does not apply: {error}") from error


def replayed_where_possible(trace: Trace, mod: IRModule) -> Schedule:
    """A schedule of `mod` with those steps of a trace applied that apply to it.

    For a program that has the main block in common with the one that the trace was made on. Each
    step is proved to keep the program's meaning, so leaving some out does, too.
    """
    sch = Schedule(marked_as_scheduled(mod), error_render_level="none")
    apply_where_possible(trace, sch)
    return sch


def apply_where_possible(trace: Trace, sch: Schedule) -> None:
    """Apply those steps of a trace that apply to a schedule; each one proves that it may."""
    values: dict[Any, Any] = {}
    for inst in trace:
        if any(variable not in values for variable in inst.uses()):
            continue
        with contextlib.suppress(TVMError):
            arguments = inst.map_arguments(values)
            outputs = sch.apply(inst.kind.name, arguments, trace.get_decision(inst))
            inst.note_outputs(outputs, values)
