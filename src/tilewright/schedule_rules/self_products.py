"""Products of a matrix and itself, such as ``x @ x.T``.

Operands are copied and converted one by one, which takes two buffers::

    C[i, j] += A[i, k] * A[j, k]    ->    A_reindex[j, k] = A[j, k]
                                          C[i, j] += A[i, k] * A_reindex[j, k]

Whatever copies the second operand then copies `A` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tilewright.schedule_rules.accesses import BlockAccesses
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import Nest, accepts, nest_of
from tilewright.schedule_rules.structures import Structure, apply_rule
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.transform.machine import Machine


def multiplies_itself(accesses: BlockAccesses) -> bool:
    """Whether two operands of a sum of products are elements of one buffer."""
    if accesses.reduces is None or len(accesses.loads) != 2:
        return False
    one, other = accesses.loads
    return one.buffer is other.buffer


def apart(
    rule: Callable[..., Sequence[Structure]],
    sch: Schedule,
    nest: Nest,
    machine: Machine,
    epilogue: Sequence[BlockRV],
    most: float,
) -> Sequence[Structure]:
    """The structures of a rule for a product whose second operand is read through a copy."""

    def structures(view: Schedule) -> tuple[BlockRV, Nest, Sequence[Structure]]:
        copy = view.reindex(nest.block, nest.accesses.loads[1].buffer.name, 1)
        inner = nest_of(view, nest.block, nest.outer, nest.shared)
        return copy, inner, rule(view, inner, machine, epilogue, most)

    def apply(number: int, view: Schedule, _: Nest) -> None:
        copy, inner, found = structures(view)
        found[number](view, inner.again(view))
        if not accepts(lambda: view.compute_inline(copy)):  # into a tensor intrinsic
            apply_rule(vectorize_elements, view, copy, machine, nest.outer)

    count = len(structures(sch.copy())[2])
    return [partial(apply, number) for number in range(count)]
