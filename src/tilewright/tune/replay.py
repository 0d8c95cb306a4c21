"""Applying traces with many different decisions, without doing twice what they have in common.

A schedule copies in constant time. So the schedules as they are before each decision are kept, and
a trace is applied from the first decision on in which it differs from those that were applied
before. All of these schedules share the instructions of the sketch, and its random variables.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tilewright.error import TVMError
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir.schedule import Instruction, Schedule, Trace
from tilewright.tune.decision import frozen

_Prefix = tuple[tuple[Instruction, ...], tuple[Any, ...]]
"""Instructions, and the decisions of those that sample."""


class Replayer:
    """Applies traces to a program.

    Args:
        mod: the program.
        checked: whether each step is proved to keep the meaning of the program.
        capacity: how many schedules are kept.
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
            # What is possible depends on earlier decisions, of which one is another one now.
            pass
    sch.apply_instruction(inst)
