"""Which pointers may point to the same memory."""

from __future__ import annotations

from tilewright.ir.expr import Var
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, AllocateConst, LetStmt
from tilewright.tir.transform.building.statements import statements


class Aliases:
    """What is known about the pointers of a function.

    Memory that the function allocates is only reached through its own pointer. Parameters do not
    overlap if the function says so (``tir.noalias``). A pointer that is computed may be anything.
    """

    def __init__(self, func: PrimFunc) -> None:
        noalias = func.attrs.get("tir.noalias")
        self._distinct: set[Var] = set()
        if noalias is not None and int(noalias):
            self._distinct |= {buffer.data for buffer in func.buffer_map.values()}
            self._distinct |= {param for param in func.params if param.dtype.is_handle}
        self._allocated: set[Var] = set()
        self._computed: set[Var] = set()
        for node in statements(func.body):
            if isinstance(node, (Allocate, AllocateConst)):
                self._allocated.add(node.buffer_var)
            elif isinstance(node, LetStmt) and node.var.dtype.is_handle:
                self._computed.add(node.var)

    def add_allocated(self, pointer: Var) -> None:
        """`pointer` is new memory of its own."""
        self._allocated.add(pointer)

    def may_overlap(self, a: Var, b: Var) -> bool:
        """Whether the two may point to the same memory."""
        if a is b or a in self._computed or b in self._computed:
            return True
        if a in self._allocated or b in self._allocated:
            return False
        return not (a in self._distinct and b in self._distinct)
