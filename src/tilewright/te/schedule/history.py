"""The history of a schedule: which primitives were applied, in terms of names and positions.

A step mentions no object of the program, so it can be repeated on another schedule of the same
tensors. What a step is applied to is looked up by steps of its own: ``get_tensor``, ``get_loops``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright.error import TEScheduleError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.operation import Operation
from tilewright.te.schedule.primitive import CONTINUE, STAGE, Primitive
from tilewright.te.schedule.sampled_extents import extents_after
from tilewright.te.schedule.stage import Stage
from tilewright.te.schedule.step import (
    Reference,
    Step,
    axes_of,
    is_in,
    position_in,
    tensors_named,
    variables_named,
)
from tilewright.te.tensor import Tensor
from tilewright.te.tensor_intrin import TensorIntrin
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.substitute import substitute, variables_of

if TYPE_CHECKING:
    from tilewright.te.schedule.samples import Samples
    from tilewright.te.schedule.schedule import Schedule
    from tilewright.te.schedule.trace import Trace, TraceWriter
    from tilewright.tir.schedule import schedule as tir_schedule


class History:
    """The steps of a schedule.

    Attributes:
        steps: in the order in which they were applied.
        is_empty: whether nothing has been done to the schedule.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.steps: list[Step] = []
        self.is_empty = True
        self._known: dict[Any, Reference | Var] = {}
        self._samples: Samples | None = None
        self._writer: TraceWriter | None = None

    def copy(self, schedule: Schedule, twins: Mapping[Stage, Stage]) -> History:
        """The same steps, to be continued by a copy of the schedule.

        Args:
            schedule: the copy.
            twins: its stages and groups, by those that they are copies of.
        """
        twin = History(schedule)
        twin.steps, twin.is_empty = list(self.steps), self.is_empty
        twin._samples = None if self._samples is None else self._samples.copy()
        for key, reference in self._known.items():
            if isinstance(key, tuple):
                stage, item = key
                twin._known[twins.get(stage, stage), item] = reference
            else:
                twin._known[twins.get(key, key)] = reference
        return twin

    @property
    def samples(self) -> Samples:
        """The sampled numbers."""
        if self._samples is None:
            from tilewright.te.schedule.samples import Samples

            self._samples = Samples()
        return self._samples

    def share_samples(self, owner: tir_schedule.Schedule) -> None:
        """Let the numbers of a `tir.Schedule` be those of this one."""
        from tilewright.te.schedule.samples import SharedSamples

        self._samples = SharedSamples(owner)

    @property
    def trace(self) -> Trace:
        """The steps as a trace."""
        if self._writer is None:
            # What traces need takes long to load, and few programs look at them.
            from tilewright.te.schedule.trace import TraceWriter

            self._writer = TraceWriter()
        return self._writer.trace_of(self.steps)

    def call(
        self, primitive: Primitive, owner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Apply a primitive, and record it if it was not refused.

        The owner is the schedule or the stage, which stays as it was if it refuses.
        """
        bound = primitive.bind(owner, args, kwargs)
        if not primitive.is_query and primitive.name != CONTINUE:
            self._require_stages(primitive.name)
        steps, known = len(self.steps), len(self._known)
        before = owner.copy() if primitive.is_on_stage else None
        try:
            stage, arguments = self._arguments(primitive, bound.arguments)
            if self._samples is not None:
                for name, value in bound.arguments.items():
                    if name != "self":
                        bound.arguments[name] = self._samples.with_numbers(value)
            result = primitive.function(*bound.args, **bound.kwargs)
        except BaseException:
            del self.steps[steps:]
            for key in list(self._known)[known:]:
                del self._known[key]
            if before is not None:
                vars(owner).update(vars(before))
            raise
        if primitive.taken is not None:
            given = {parameter.name for parameter in primitive.parameters}
            arguments = {key: value for key, value in arguments.items() if key not in given}
            arguments |= primitive.taken(owner)
        self._add(primitive.name, arguments, result, stage)
        self.is_empty = self.is_empty and primitive.is_query
        return result

    def sample(self, name: str, arguments: dict[str, Any], decision: Any) -> Any:
        """Choose numbers at random, and record which.

        Returns variables that stand for the numbers, or one variable; see `Samples.choose`.
        """
        self._require_stages(name)
        extent = self._extent(arguments.get("loop"))
        result, taken = self.samples.choose(name, arguments, decision, extent)
        encoded = {key: self._value(value) for key, value in arguments.items()}
        self._add(name, encoded, result, None, taken)
        self.is_empty = False
        return result

    def _extent(self, loop: Any) -> Expr | None:
        """The extent of a loop in terms of sampled numbers, if the steps tell it."""
        found = (self._known.get((stage, loop)) for stage in self._schedule.stages)
        return next((item.extent for item in found if isinstance(item, Reference)), None)

    def _require_stages(self, name: str) -> None:
        """Require that the schedule does not go on as a schedule of blocks."""
        if self._schedule.continuation is not None:
            raise TEScheduleError(
                f"{name}: since {CONTINUE}, the schedule is one of blocks, and its stages can no "
                "longer be transformed; transform them before, or go on with "
                "tir.Schedule(te.schedule.schedule_to_prim_func(s, args))"
            )

    # --- arguments in terms of references -----------------------------------------------------

    def _add(
        self,
        name: str,
        arguments: dict[str, Any],
        result: Any = None,
        stage: Stage | None = None,
        decision: Any = None,
    ) -> None:
        """Add a step that returned `result`; loops in it are of `stage`."""
        returns_list = isinstance(result, (list, tuple))
        items = result if returns_list else [] if result is None else [result]
        outputs = tuple(self._define(item, stage) for item in items)
        if self._samples is not None:
            for output, extent in zip(outputs, extents_after(name, arguments), strict=False):
                if isinstance(output, Reference):
                    output.extent = extent
        self.steps.append(Step(name, arguments, outputs, returns_list, decision))

    def _define(self, item: Any, stage: Stage | None) -> Reference | Var:
        if isinstance(item, Var):
            key, reference = item, item
        elif isinstance(item, IterVar):
            is_thread = item.iter_type is IterType.THREAD_INDEX
            key = item if is_thread else (stage, item)
            reference = Reference(item.name, True, item.dom and item.dom.extent)
        elif isinstance(item, Tensor):
            key = self._schedule[item], item.value_index
            reference = Reference(item.name, False)
        else:
            assert isinstance(item, Stage), item
            key, reference = item, Reference("group", False)
        if self._known.get(key) is None:
            self._known[key] = reference
        return reference

    def _arguments(
        self, primitive: Primitive, given: Mapping[str, Any]
    ) -> tuple[Stage | None, dict[str, Any]]:
        """The stage whose loops a step takes and returns, and the arguments of the step."""
        named = {STAGE if name == "self" else name: value for name, value in given.items()}
        if not primitive.is_on_stage:
            del named[STAGE]
        stage = self._stage_of(named.get(primitive.loops_of))
        return stage, {name: self._value(value, stage) for name, value in named.items()}

    def _stage_of(self, value: Any) -> Stage | None:
        op = value.op if isinstance(value, Tensor) else value
        if isinstance(op, Operation):
            return self._schedule.stage_map.get(op)
        return value if isinstance(value, Stage) else None

    def _value(self, value: Any, stage: Stage | None = None) -> Any:
        """An argument in terms of references; what is unknown stays as it is.

        It may mention loops of `stage`, or of any stage without one.
        """
        if isinstance(value, (Stage, Tensor, Operation)):
            return self._tensor(value)
        if isinstance(value, IterVar):
            is_thread = value.iter_type is IterType.THREAD_INDEX
            return self._thread(value) if is_thread else self._loop(value, stage)
        if isinstance(value, TensorIntrin):
            return value.registered_name or value
        if isinstance(value, IntImm) and value.dtype.is_bool:
            return bool(value.value)
        if isinstance(value, Expr):
            numbers = {var: self._number(var) for var in variables_of(value)}
            return substitute(value, numbers)
        if isinstance(value, (list, tuple)):
            return [self._value(item, stage) for item in value]
        return value

    def _tensor(self, value: Stage | Tensor | Operation) -> Any:
        stage = self._stage_of(value)
        if stage is None:
            return value
        if stage.is_group:
            found = self._known.get(stage)
            return value if found is None else found
        index = value.value_index if isinstance(value, Tensor) else 0
        found = self._known.get((stage, index))
        if found is not None:
            return found
        tensor = stage.op.output(index)
        position = position_in(tensor, tensors_named(self._schedule, tensor.name))
        arguments = {"name": tensor.name} | ({"position": position} if position else {})
        self._add("get_tensor", arguments, tensor)
        return self._known.get((stage, index))

    def _loop(self, value: IterVar, stage: Stage | None) -> Any:
        if stage is None:
            stage = next((s for s in self._schedule.stages if is_in(value, s.leaf_iter_vars)), None)
        if stage is None:
            return value
        found = self._known.get((stage, value))
        if found is not None:
            return found
        for name, loops in (("get_loops", stage.leaf_iter_vars), ("get_axes", axes_of(stage))):
            if is_in(value, loops):
                self._add(name, {"tensor": self._tensor(stage)}, list(loops), stage)
                return self._known.get((stage, value))
        return value

    def _thread(self, value: IterVar) -> Any:
        found = self._known.get(value)
        if found is None:
            dom = value.dom and [value.dom.min, as_expr(value.dom.min + value.dom.extent)]
            arguments = {"dom": self._value(dom), "tag": value.thread_tag, "name": value.name}
            self._add("thread_axis", {k: v for k, v in arguments.items() if v is not None}, value)
        return self._known.get(value)

    def _number(self, var: Var) -> Var:
        found = self._known.get(var)
        if found is None:
            threads = [key for key in self._known if isinstance(key, IterVar)]
            thread = next((thread for thread in threads if thread.var is var), None)
            named = variables_named(self._schedule, var.name)
            if thread is not None:
                self._add("get_var", {"source": self._thread(thread)}, var)
            elif is_in(var, named):
                position = position_in(var, named)
                arguments = {"source": var.name} | ({"position": position} if position else {})
                self._add("get_var", arguments, var)
        return var
