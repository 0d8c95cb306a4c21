"""The history of a schedule: instructions with their decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright.error import ArgumentValueError
from tilewright.providers import provider
from tilewright.tir.schedule.traces.instruction import Instruction
from tilewright.tir.schedule.traces.json_form import apply_json, to_json
from tilewright.tir.schedule.traces.python_text import as_python

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.tir.schedule.schedule import Schedule


class Trace:
    """Instructions in the order in which they were applied, with the decisions of samplings.

    Instructions are kept in a list that copies of the trace share until one of them changes.

    Args:
        insts: the instructions.
        decisions: the decisions of sampling instructions.

    Attributes:
        package: which has the schedule that it is of, ``"tir"`` or ``"te"``.
    """

    package: ClassVar = "tir"

    def __init__(
        self,
        insts: list[Instruction] | None = None,
        decisions: Mapping[Instruction, Any] | None = None,
    ) -> None:
        self._insts = list(insts or ())
        self._decisions = dict(decisions or {})
        self._shared = False

    @property
    def insts(self) -> list[Instruction]:
        """The instructions; a copy."""
        return list(self._insts)

    @property
    def decisions(self) -> dict[Instruction, Any]:
        """The decisions by instruction; a copy."""
        return dict(self._decisions)

    def __len__(self) -> int:
        return len(self._insts)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self._insts)

    def copy(self) -> Self:
        """An independent copy, in constant time."""
        copy = self.__class__.__new__(self.__class__)
        copy._insts, copy._decisions = self._insts, self._decisions
        copy._shared = self._shared = True
        return copy

    def _own(self) -> None:
        if self._shared:
            self._insts, self._decisions = list(self._insts), dict(self._decisions)
            self._shared = False

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add an instruction, with its decision if it is a sampling."""
        self._own()
        self._insts.append(inst)
        if decision is not None:
            self._decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Remove the last instruction, and return it; None if there is none."""
        if not self._insts:
            return None
        self._own()
        inst = self._insts.pop()
        self._decisions.pop(inst, None)
        return inst

    def with_decision(
        self, inst: Instruction, decision: Any, remove_postproc: bool = False
    ) -> Trace:
        """A copy in which a sampling instruction has another decision.

        Args:
            inst: an instruction of this trace.
            decision: what it decides.
            remove_postproc: leave out what follows `enter_postproc`.
        """
        if all(own is not inst for own in self._insts):
            raise ArgumentValueError(f"with_decision: {inst!r} is not in the trace")
        copy = self.__class__(list(self.kept(remove_postproc)), self._decisions)
        copy._decisions[inst] = decision
        return copy

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """A copy without queries and samplings of which no result is used.

        Args:
            remove_postproc: leave out what follows `enter_postproc`.
        """
        used: set[Any] = set()
        needed: list[Instruction] = []
        for inst in reversed(list(self.kept(remove_postproc))):
            if inst.kind.is_pure and not any(output in used for output in inst.outputs):
                continue
            used.update(inst.uses())
            needed.append(inst)
        decisions = {inst: self._decisions[inst] for inst in needed if inst in self._decisions}
        return self.__class__(needed[::-1], decisions)

    def kept(self, remove_postproc: bool) -> Iterator[Instruction]:
        """The instructions; with `remove_postproc` those before `enter_postproc`."""
        for inst in self._insts:
            if remove_postproc and inst.kind.is_postproc:
                return
            yield inst

    def get_decision(self, inst: Instruction) -> Any:
        """The decision of an instruction, None if it has none."""
        return self._decisions.get(inst)

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool = False,
        decision_provider: Callable[[Instruction, list[Any], list[Any], Any], Any] | None = None,
    ) -> None:
        """Apply the instructions to `sch`.

        Args:
            sch: a schedule of the program that the trace was made on, or of one like it.
            remove_postproc: stop at the instruction `enter_postproc`.
            decision_provider: called with each sampling instruction, its inputs, its attributes
                and its decision; returns the decision to take.
        """
        values: dict[Any, Any] = {}
        for inst in self.kept(remove_postproc):
            arguments = inst.map_arguments(values)
            decision = self._decisions.get(inst)
            if decision_provider is not None and decision is not None:
                inputs = inst.inputs_of(arguments)
                decision = decision_provider(inst, inputs, inst.attrs, decision)
            outputs = sch.apply(inst.kind.name, arguments, decision)
            inst.note_outputs(outputs, values)

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Schedule, remove_postproc: bool = False) -> None:
        """Apply a trace in its JSON form, as `as_json` returns it, to `sch`.

        Args:
            json_obj: the form, as lists (what `json.loads` returns).
            sch: a schedule of the program that the trace was made on, or of one like it.
            remove_postproc: stop at the instruction `enter_postproc`.

        Raises:
            ArgumentValueError: for a malformed trace.
            ScheduleError: for a step that does not apply.
        """
        apply_json(json_obj, sch, remove_postproc)

    def as_json(
        self, remove_postproc: bool = False, *, index_maps_as_graphs: bool = False
    ) -> list[Any]:
        """The trace as lists of strings and numbers, which `json.dumps` writes.

        The form is the one of Apache TVM's traces, but for index maps, which are shorter.

        Args:
            remove_postproc: leave out what follows `enter_postproc`.
            index_maps_as_graphs: write index maps as Apache TVM reads them.
        """
        return to_json(self, remove_postproc, index_maps_as_graphs)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """The instructions as lines of Python that call the methods of a schedule ``sch``."""
        return as_python(self, remove_postproc)

    def show(self, style: str | None = None) -> None:
        """Print the trace as Python, with colours in a terminal.

        Args:
            style: the name of a Pygments style.
        """
        provider("script display").show_text(str(self), style)

    def __str__(self) -> str:
        packages = {self.package, "tir"}
        packages |= {i.kind.name.partition(".")[0] for i in self._insts if "." in i.kind.name}
        lines = [
            f"# from tilewright import {', '.join(sorted(packages))}",
            f"def apply_trace(sch: {self.package}.Schedule) -> None:",
        ]
        lines += ["  " + line for line in self.as_python()] or ["  pass"]
        return "\n".join(lines)

    __repr__ = __str__
