"""The pointers of a program: which may be equal, and through which buffers their memory is used."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tilewright.ir.expr import Call, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import nodes_of, walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AttrStmt,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    LetStmt,
    Prefetch,
    Stmt,
)
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.software_pipeline.annotations import DOUBLE_BUFFER


def allocates(root: Stmt) -> bool:
    """Whether a program has memory of its own."""
    return any(isinstance(stmt, Allocate) for stmt in statements(root))


def stored_pointers(function: PrimFunc) -> set[Var]:
    """The pointers through which `function` itself writes."""
    stores = (item for item in statements(function.body) if isinstance(item, BufferStore))
    return {store.buffer.data for store in stores}


def written_pointers(function: PrimFunc) -> set[Var]:
    """The pointers through which `function` writes, or that it passes to someone who may."""
    written = {store.buffer.data for store in nodes_of(function.body, BufferStore)}
    for call in nodes_of(function.body, Call):
        written.update(arg for arg in call.args if isinstance(arg, Var) and arg.dtype.is_handle)
    return written


class MemoryUses:
    """What a piece of program does with memory.

    Attributes:
        buffers: for each pointer, the buffers through which elements are loaded and stored.
        escaped: pointers that are used by other means, for example as an argument of a call.
    """

    def __init__(self, root: Stmt) -> None:
        self.buffers: dict[Var, dict[Buffer, None]] = {}
        self.escaped: set[Var] = set()
        self._allocated: set[Var] = set()
        self._loads: Counter[Var] = Counter()
        self._updates: Counter[Var] = Counter()
        for node in walk(root):
            self._note(node)

    def only_buffer(self, stmt: Allocate) -> Buffer | None:
        """The buffer that stands for the whole of an allocation, if all uses are accesses of it."""
        pointer = stmt.buffer_var
        found = list(self.buffers.get(pointer, ()))
        return None if pointer in self.escaped or len(found) != 1 else found[0]

    def is_read(self, pointer: Var) -> bool:
        """Whether memory is read for more than to update it."""
        return self._loads[pointer] > self._updates[pointer]

    def _note(self, node: Any) -> None:
        if isinstance(node, Allocate):
            if node.buffer_var in self._allocated:
                self.escaped.add(node.buffer_var)  # one pointer to memory of several sizes
            self._allocated.add(node.buffer_var)
        elif isinstance(node, (BufferLoad, BufferStore, DeclBuffer)):
            pointer = node.buffer.data
            self.buffers.setdefault(pointer, {})[node.buffer] = None
            if isinstance(node, BufferLoad):
                self._loads[pointer] += 1
            elif isinstance(node, BufferStore):
                loads = (part for part in walk(node) if isinstance(part, BufferLoad))
                self._updates[pointer] += sum(part.buffer.data is pointer for part in loads)
        elif isinstance(node, Var):
            self.escaped.add(node)
        elif isinstance(node, Call) and node.dtype.is_handle:
            # The address of an element.
            self.escaped.update(a.buffer.data for a in node.args if isinstance(a, BufferLoad))
        elif isinstance(node, (Prefetch, BufferRealize)):
            self.escaped.add(node.buffer.data)
        elif isinstance(node, AttrStmt) and node.attr_key == DOUBLE_BUFFER:
            pass  # it only says how many there are
        elif isinstance(node, AttrStmt) and isinstance(node.node, (Var, Buffer)):
            self.escaped.add(node.node if isinstance(node.node, Var) else node.node.data)


class Mentions:
    """The pointers that each part of a program mentions; computed once per node."""

    def __init__(self) -> None:
        self._known: dict[Node, frozenset[Var]] = {}

    def __call__(self, node: Any) -> frozenset[Var]:
        found = self._known.get(node)
        if found is None:
            own: set[Var] = set()
            if isinstance(node, Var):
                own.add(node)
            elif isinstance(node, (BufferLoad, BufferStore, DeclBuffer, Prefetch, BufferRealize)):
                own.add(node.buffer.data)
            elif isinstance(node, AttrStmt) and isinstance(node.node, (Var, Buffer)):
                own.add(node.node if isinstance(node.node, Var) else node.node.data)
            found = self._known[node] = frozenset(own).union(*map(self, node.children()))
        return found


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
