"""Tags of operations: kinds of computations, for passes that recognise them."""

from __future__ import annotations

from typing import Final

ELEMWISE: Final = "elemwise"
"""Each element from the elements at the same place."""
BROADCAST: Final = "broadcast"
"""Element by element, with operands that repeat along some dimensions."""
INJECTIVE: Final = "injective"
"""Each element from single elements at other places."""
COMM_REDUCE: Final = "comm_reduce"
"""A reduction that may be done in any order."""
COMM_REDUCE_IDX: Final = "comm_reduce_idx"
"""A reduction that gives a place, as argmax does."""


def is_broadcast(tag: str) -> bool:
    """Whether the tag says that elements come from elements at the same place."""
    return tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag: str) -> bool:
    """Whether the tag says that each element comes from single elements."""
    return is_broadcast(tag) or tag.startswith(INJECTIVE)
