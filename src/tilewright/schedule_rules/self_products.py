"""Products of a matrix and itself, such as ``x @ x.T``.

Operands are copied and converted one by one, which takes two buffers::

    C[i, j] += A[i, k] * A[j, k]    ->    A_reindex[j, k] = A[j, k]
                                          C[i, j] += A[i, k] * A_reindex[j, k]

Whatever copies the second operand then copies `A` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import DoesNotFitError, Nest, accepts, nest_of
from tilewright.schedule_rules.operands import Contraction
from tilewright.schedule_rules.structures import Structure, apply_rule
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.transform.machine import Machine


def multiplies_itself(found: Contraction) -> bool:
    """Whether the two operands of a contraction are elements of one buffer."""
    if len(found.moving) != 1 or len(found.fixed) != 1:
        return False
    return found.moving[0].buffer is found.fixed[0].buffer


def apart(
    rule: Callable[..., Sequence[Structure]],
    sch: Schedule,
    nest: Nest,
    machine: Machine,
    epilogue: Sequence[BlockRV],
    most: float,
) -> Sequence[Structure]:
    """The structures of a rule for a product whose second operand is read through a copy.

    Raises:
        DoesNotFitError: if it cannot be, such as an operand with places from memory.
    """

    def structures(view: Schedule) -> tuple[BlockRV, Nest, Sequence[Structure]]:
        copy = view.reindex(nest.block, nest.accesses.loads[1].buffer.name, 1)
        inner = nest_of(view, nest.block, nest.outer, nest.shared)
        return copy, inner, rule(view, inner, machine, epilogue, most)

    def apply(number: int, view: Schedule, _: Nest) -> None:
        copy, inner, found = structures(view)
        found[number](view, inner.again(view))
        if not accepts(lambda: view.compute_inline(copy)):  # into a tensor intrinsic
            apply_rule(vectorize_elements, view, copy, machine, nest.outer)

    try:
        count = len(structures(sch.copy())[2])
    except ScheduleError as error:
        raise DoesNotFitError("its operands are not told apart") from error
    return [partial(apply, number) for number in range(count)]
