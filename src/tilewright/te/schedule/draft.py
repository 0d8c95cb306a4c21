"""A step in terms of names and positions, and the steps that look up what it is applied to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.operation import Operation
from tilewright.te.schedule.primitive import STAGE, Primitive
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.te.tensor_intrin import TensorIntrin
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.substitute import substitute, variables_of

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule


class Reference:
    """Stands for a tensor, a group of stages, a loop or a thread axis.

    Attributes:
        name: that of what it stands for.
        is_loop: whether it stands for a loop or a thread axis.
    """

    __slots__ = ("is_loop", "name")

    def __init__(self, name: str, is_loop: bool) -> None:
        self.name, self.is_loop = name, is_loop


class Step(NamedTuple):
    """One step.

    Attributes:
        name: of the primitive.
        arguments: by name. Objects of the program are references, and sampled numbers variables.
        outputs: references to what it returned, variables for numbers.
        returns_list: whether it returned a list, or a tuple.
        decision: of a sampling.
    """

    name: str
    arguments: dict[str, Any]
    outputs: tuple[Reference | Var, ...] = ()
    returns_list: bool = False
    decision: Any = None


class Draft:
    """Steps that are recorded if the last one succeeds.

    Attributes:
        steps: the steps.
        known: what references were made for.
    """

    def __init__(self, schedule: Schedule, known: Mapping[Any, Reference | Var]) -> None:
        self._schedule, self._before = schedule, known
        self.steps: list[Step] = []
        self.known: dict[Any, Reference | Var] = {}

    def add(
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
        self.steps.append(Step(name, arguments, outputs, returns_list, decision))

    def _define(self, item: Any, stage: Stage | None) -> Reference | Var:
        if isinstance(item, Var):
            key, reference = item, item
        elif isinstance(item, IterVar):
            is_thread = item.iter_type is IterType.THREAD_INDEX
            key, reference = item if is_thread else (stage, item), Reference(item.name, True)
        elif isinstance(item, Tensor):
            key = self._schedule[item], item.value_index
            reference = Reference(item.name, False)
        else:
            assert isinstance(item, Stage), item
            key, reference = item, Reference("group", False)
        if self._find(key) is None:
            self.known[key] = reference
        return reference

    def arguments(
        self, primitive: Primitive, owner: Any, given: Mapping[str, Any]
    ) -> tuple[Stage | None, dict[str, Any]]:
        """The stage whose loops a step takes and returns, and the arguments of the step."""
        named = {STAGE if name == "self" else name: value for name, value in given.items()}
        if not primitive.is_on_stage:
            del named[STAGE]
        stage = self._stage_of(named.get(primitive.loops_of))
        return stage, {name: self.value(value, stage) for name, value in named.items()}

    def _stage_of(self, value: Any) -> Stage | None:
        op = value.op if isinstance(value, Tensor) else value
        if isinstance(op, Operation):
            return self._schedule.stage_map.get(op)
        return value if isinstance(value, Stage) else None

    def value(self, value: Any, stage: Stage | None = None) -> Any:
        """An argument in terms of references; what is unknown stays as it is.

        Args:
            value: the argument.
            stage: whose loops it may mention; None if they are of any.
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
            return [self.value(item, stage) for item in value]
        return value

    def _find(self, key: Any) -> Reference | Var | None:
        found = self.known.get(key)
        return self._before.get(key) if found is None else found

    def _tensor(self, value: Stage | Tensor | Operation) -> Any:
        stage = self._stage_of(value)
        if stage is None:
            return value
        if stage.is_group:
            found = self._find(stage)
            return value if found is None else found
        index = value.value_index if isinstance(value, Tensor) else 0
        found = self._find((stage, index))
        if found is not None:
            return found
        tensor = stage.op.output(index)
        position = _position(tensor, tensors_named(self._schedule, tensor.name))
        arguments = {"name": tensor.name} | ({"position": position} if position else {})
        self.add("get_tensor", arguments, tensor)
        return self._find((stage, index))

    def _loop(self, value: IterVar, stage: Stage | None) -> Any:
        if stage is None:
            stage = next(
                (s for s in self._schedule.stages if _is_in(value, s.leaf_iter_vars)), None
            )
        if stage is None:
            return value
        found = self._find((stage, value))
        if found is not None:
            return found
        for name, loops in (("get_loops", stage.leaf_iter_vars), ("get_axes", axes_of(stage))):
            if _is_in(value, loops):
                self.add(name, {"tensor": self._tensor(stage)}, list(loops), stage)
                return self._find((stage, value))
        return value

    def _thread(self, value: IterVar) -> Any:
        found = self._find(value)
        if found is None:
            dom = value.dom and [value.dom.min, as_expr(value.dom.min + value.dom.extent)]
            arguments = {"dom": self.value(dom), "tag": value.thread_tag, "name": value.name}
            self.add("thread_axis", {k: v for k, v in arguments.items() if v is not None}, value)
        return self._find(value)

    def _number(self, var: Var) -> Var:
        found = self._find(var)
        if found is None:
            threads = [k for k in (*self._before, *self.known) if isinstance(k, IterVar)]
            thread = next((thread for thread in threads if thread.var is var), None)
            named = variables_named(self._schedule, var.name)
            if thread is not None:
                self.add("get_var", {"source": self._thread(thread)}, var)
            elif _is_in(var, named):
                position = _position(var, named)
                arguments = {"source": var.name} | ({"position": position} if position else {})
                self.add("get_var", arguments, var)
        return var


def tensors_named(schedule: Schedule, name: str) -> list[Tensor]:
    """The tensors of that name, in the order of the stages."""
    tensors = [tensor for stage in schedule.stages for tensor in stage.op.outputs]
    return [tensor for tensor in tensors if tensor.name == name]


def variables_named(schedule: Schedule, name: str) -> list[Var]:
    """The variables of that name in the shapes of tensors, in the order of the stages."""
    shapes = [tensor.shape for stage in schedule.stages for tensor in stage.op.outputs]
    found = dict.fromkeys(v for shape in shapes for extent in shape for v in variables_of(extent))
    return [var for var in found if var.name == name]


def axes_of(stage: Stage) -> list[IterVar]:
    """The axes of an operation, the axes of its reduction last."""
    op = None if stage.is_group else stage.op
    return [*getattr(op, "axis", ()), *getattr(op, "reduce_axis", ())]


def one_of(items: list[Any], position: int, what: str) -> Any:
    """The item at `position` of those that were found.

    Raises:
        ArgumentValueError: if there are fewer.
    """
    if not 0 <= position < len(items):
        raise ArgumentValueError(
            f"the schedule has {len(items)} {what}, so there is none at position {position}"
        )
    return items[position]


def _is_in(item: Any, items: Iterable[Any]) -> bool:
    return any(other is item for other in items)


def _position(item: Any, items: Iterable[Any]) -> int:
    return next(position for position, other in enumerate(items) if other is item)
