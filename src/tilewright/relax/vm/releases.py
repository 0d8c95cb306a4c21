"""When values of a function are given up: after the last step that uses them."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.relax.vm.steps import ReleaseStep, Step, in_order, slots_of


def with_releases(steps: Sequence[Step], returned: set[int]) -> list[Step]:
    """The steps of a function, with steps that give up values.

    Args:
        steps: those of the function.
        returned: the slots of values that the function returns.
    """
    last: dict[int, int] = {}
    for position, step in enumerate(steps):
        for part in in_order([step]):
            last.update((slot, position) for slot in slots_of(part) if slot not in returned)
    at: dict[int, list[int]] = {}
    for slot, position in last.items():
        at.setdefault(position, []).append(slot)
    result: list[Step] = []
    for position, step in enumerate(steps):
        result.append(step)
        if position in at and position != len(steps) - 1:
            result.append(ReleaseStep(tuple(sorted(at[position]))))
    return result
