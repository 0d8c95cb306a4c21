"""How much memory a lowered tensor program allocates."""

from __future__ import annotations

from tilewright.error import ArgumentError
from tilewright.ir.expr import IntImm
from tilewright.ir.node import Node
from tilewright.ir.recursion import deep_recursion
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate


@deep_recursion
def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int = 1) -> int:
    """The most bytes that allocations of `func` hold at a time.

    Args:
        func: a lowered function, in which memory is made by ``T.allocate``.
        workspace_byte_alignment: the size of each allocation is rounded up to a multiple of this.

    Raises:
        ArgumentError: for something else than a function, or a size that is not constant.
    """
    if not isinstance(func, PrimFunc):
        raise ArgumentError(f"calculate_workspace_bytes: expected a PrimFunc, got {func!r}")

    def most(node: Node) -> int:
        inner = max(map(most, node.children()), default=0)
        return (
            inner + _bytes(node, workspace_byte_alignment) if isinstance(node, Allocate) else inner
        )

    return most(func.body)


def _bytes(node: Allocate, alignment: int) -> int:
    size = node.dtype.itemsize
    for extent in node.extents:
        if not isinstance(extent, IntImm):
            raise ArgumentError(
                f"calculate_workspace_bytes: {node.buffer_var.name} has the symbolic size "
                f"{extent!r}"
            )
        size *= extent.value
    return -(-size // alignment) * alignment
