"""Which threads of a warp exchange values without memory, and which are neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tilewright.ir.expr import Call, Var, const_int_value
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Stmt
from tilewright.tir.transform.device.thread_axes import THREADS, Axis

SHUFFLES: Final = (
    "tir.tvm_warp_shuffle",
    "tir.tvm_warp_shuffle_up",
    "tir.tvm_warp_shuffle_down",
)
ACTIVE: Final = "tir.tvm_warp_activemask"


def lanes_that_exchange(stmt: Stmt) -> int:
    """How many neighbouring threads have to come to `stmt` together; 0 for any.

    Where the mask of an exchange says which threads have come, these are enough.
    """
    most = 0
    for node in walk(stmt):
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in SHUFFLES:
            mask, _, _, width, size = node.args
            if not any(_tells_who_came(part) for part in walk(mask)):
                most = max(most, const_int_value(width) or const_int_value(size) or 0)
    return most


def _tells_who_came(node: object) -> bool:
    if isinstance(node, Call):
        return isinstance(node.op, Op) and node.op.name == ACTIVE
    return isinstance(node, BufferLoad)


def strides_of(axes: Sequence[Axis]) -> Mapping[Var, int]:
    """How many threads apart neighbours along each axis are, as far as that is a constant."""
    found: dict[Var, int] = {}
    stride = 1
    for axis in sorted((a for a in axes if a.tag in THREADS), key=lambda a: THREADS.index(a.tag)):
        found[axis.var] = stride
        extent = const_int_value(axis.extent)
        if extent is None:
            break
        stride *= extent
    return found
