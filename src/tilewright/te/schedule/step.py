"""A step in terms of names and positions, and what steps look up by them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.error import ArgumentValueError
from tilewright.ir.expr import Expr, Var
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import Tensor
from tilewright.tir.expr import IterVar
from tilewright.tir.substitute import variables_of

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule


class Reference:
    """Stands for a tensor, a group of stages, a loop or a thread axis.

    Attributes:
        name: that of what it stands for.
        is_loop: whether it stands for a loop or a thread axis.
        extent: the number of iterations of a loop, in terms of sampled numbers; None if it is not
            known.
    """

    __slots__ = ("extent", "is_loop", "name")

    def __init__(self, name: str, is_loop: bool, extent: Expr | None = None) -> None:
        self.name, self.is_loop, self.extent = name, is_loop, extent


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


def is_in(item: Any, items: Iterable[Any]) -> bool:
    return any(other is item for other in items)


def position_in(item: Any, items: Iterable[Any]) -> int:
    return next(position for position, other in enumerate(items) if other is item)
