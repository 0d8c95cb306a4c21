"""The order of bindings in dataflow blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, Literal

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.relax.expr import Binding, DataflowBlock, MatchCast
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.transform.effects import WriteEpochs
from tilewright.relax.transform.function_pass import DataflowBlockPass
from tilewright.relax.transform.scopes import variables_in, with_bindings

ORDERS: Final = ("depth-first", "breadth-first")
DIRECTIONS: Final = ("from-inputs", "from-outputs")


class TopologicalSort(DataflowBlockPass):
    """Order the bindings of each dataflow block by what they depend on.

    With ``"depth-first"``, a chain of operations stands together, so that fewer values are alive at
    the same time; with ``"breadth-first"``, operations of the same depth do.

    Args:
        order: ``"depth-first"`` or ``"breadth-first"``.
        direction: ``"from-inputs"``: each as early as its operands allow; ``"from-outputs"``: each
            as late as its users allow.
    """

    def __init__(
        self,
        order: Literal["depth-first", "breadth-first"] = "depth-first",
        direction: Literal["from-inputs", "from-outputs"] = "from-inputs",
    ) -> None:
        for value, choices in ((order, ORDERS), (direction, DIRECTIONS)):
            if value not in choices:
                raise ArgumentValueError(f"TopologicalSort: {value!r} is not one of {choices}")
        self._order, self._direction = order, direction

    def transform_dataflowblock(
        self, block: DataflowBlock, mod: IRModule, ctx: PassContext
    ) -> DataflowBlock:
        bindings = list(block.bindings)
        before = _dependences(bindings, WriteEpochs(mod).of(bindings))
        if self._direction == "from-outputs":
            bindings.reverse()
            before = _inverted(bindings, before)
        ordered = list(_sorted(bindings, before, depth_first=self._order == "depth-first"))
        if self._direction == "from-outputs":
            ordered.reverse()
        return with_bindings(block, ordered)  # type: ignore[return-value]


_Graph = dict[Binding, list[Binding]]


def _dependences(bindings: list[Binding], epochs: list[int]) -> _Graph:
    """For each binding those of the block that must come before it, in their order.

    Nothing moves across a call that writes over arrays, which is the last one of its epoch.
    """
    definition: dict[object, Binding] = {}
    before: _Graph = {}
    last_write: Binding | None = None
    epoch: list[Binding] = []
    for position, binding in enumerate(bindings):
        used = dict.fromkeys(definition.get(variable) for variable in variables_in(binding))
        is_write = position + 1 < len(bindings) and epochs[position + 1] > epochs[position]
        used.update(dict.fromkeys((last_write, *(epoch if is_write else ()))))
        epoch.append(binding)
        if is_write:
            last_write, epoch = binding, []
        before[binding] = [other for other in used if other is not None]
        definition[binding.var] = binding
        if isinstance(binding, MatchCast):
            for size in symbolic_vars_of(binding.struct_info):
                definition.setdefault(size, binding)
    return before


def _inverted(order: list[Binding], before: _Graph) -> _Graph:
    """For each binding those that must come after it, in that order."""
    after: _Graph = {binding: [] for binding in order}
    for binding in order:
        for other in before[binding]:
            after[other].append(binding)
    return after


def _sorted(bindings: list[Binding], before: _Graph, depth_first: bool) -> Iterator[Binding]:
    """`bindings`, each after those that must come before it.

    Whatever can come next waits in a list; the next is the last of it, or the first.
    """
    after = _inverted(bindings, before)
    missing = {binding: len(others) for binding, others in before.items()}
    ready = deque(binding for binding in bindings if not missing[binding])
    if depth_first:
        ready.reverse()
    while ready:
        binding = ready.pop() if depth_first else ready.popleft()
        yield binding
        freed = []
        for other in after[binding]:
            missing[other] -= 1
            if not missing[other]:
                freed.append(other)
        ready += freed[::-1] if depth_first else freed
