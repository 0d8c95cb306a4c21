"""What a script must declare that the IR does not: buffers without a declaration, free variables.

Lowered programs use buffers such as the flat view of an allocation that no node declares. The
script declares each in the innermost scope that covers all its uses, before the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tilewright.ir.expr import Let, SizeVar, Var
from tilewright.ir.node import Node
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion
from tilewright.tir.expr import CommReducer, IterVar
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    For,
    LetStmt,
    Prefetch,
    SeqStmt,
    Stmt,
)

ScopeKey = tuple[int, str]
"""A scope: the identity of the statement that opens it, and the field that holds its body."""

FUNCTION: ScopeKey = (0, "body")
"""The scope of the function's own body."""

REST_OF_SCOPE = frozenset(
    {LetStmt, Allocate, AllocateConst, DeclBuffer, AttrStmt, AssertStmt, BufferRealize}
)
"""Statements whose body may be written as the rest of the scope that they are in."""


class Item(NamedTuple):
    """A statement of a scope."""

    stmt: Stmt
    is_flat: bool
    """Its body is the following items of the same scope."""


def scope_items(stmt: Stmt) -> list[Item]:
    """The statements that `stmt`, as the body of a scope, is written as."""
    items: list[Item] = []
    _collect_items(stmt, True, items)
    return items


def _collect_items(stmt: Any, is_last: bool, items: list[Item]) -> None:
    while True:
        if stmt.__class__ is SeqStmt and stmt.seq:
            for inner in stmt.seq[:-1]:
                _collect_items(inner, False, items)
            stmt = stmt.seq[-1]
            continue
        is_flat = is_last and stmt.__class__ in REST_OF_SCOPE
        items.append(Item(stmt, is_flat))
        if not is_flat:
            return
        stmt = stmt.body


class Declarations:
    """The result of `find_declarations`.

    Attributes:
        buffers: undeclared buffers by the scope and the position of the item before which they
            are declared.
        free: variables that nothing defines, in order of appearance.
        used: identities of all variables that occur in expressions or as pointers of buffers.
    """

    def __init__(self) -> None:
        self.buffers: dict[ScopeKey, dict[int, list[Buffer]]] = {}
        self.free: list[Var] = []
        self.used: set[int] = set()


def find_declarations(
    body: Stmt, params: tuple[Var, ...], buffers: Iterable[Buffer], *, fragment: bool = False
) -> Declarations:
    """What the script of a function with this body must declare.

    Args:
        params: variables that are defined around it.
        buffers: buffers that are declared around it, with the variables that they define.
        fragment: whether it is a part of a function: buffers of the function come first then.
    """
    search = _Search(fragment)
    search.bound.update(map(id, params))
    for buffer in buffers:
        search.declare(buffer, defines_shape=True)
    search.scope(FUNCTION, body)
    return search.result()


class _Use:
    """An undeclared buffer and the common part of the places where it is used."""

    def __init__(self, buffer: Buffer, path: list[tuple[ScopeKey, int]]) -> None:
        self.buffer = buffer
        self.path = path

    def also_at(self, path: list[tuple[ScopeKey, int]]) -> None:
        """Keep the part of the path that is common with `path`."""
        own = self.path
        for depth, (mine, other) in enumerate(zip(own, path, strict=False)):
            if mine != other:
                # The same scope at a later item still is a common scope; uses come in order.
                end = depth + 1 if mine[0] == other[0] else depth
                self.path = own[:end]
                return
        self.path = own[: min(len(own), len(path))]


class _Search:
    def __init__(self, fragment: bool) -> None:
        self.fragment = fragment
        self.bound: set[int] = set()
        self.declared: set[int] = set()
        self.uses: dict[int, _Use] = {}
        self.found = Declarations()
        self.path: list[tuple[ScopeKey, int]] = []
        self.seen_free: set[int] = set()

    def result(self) -> Declarations:
        for use in self.uses.values():
            scope, position = use.path[-1]
            self.found.buffers.setdefault(scope, {}).setdefault(position, []).append(use.buffer)
        return self.found

    def scope(self, key: ScopeKey, body: Stmt) -> None:
        """Search a scope."""
        self.path.append((key, 0))
        for position, (stmt, is_flat) in enumerate(scope_items(body)):
            self.path[-1] = (key, position)
            self.statement(stmt, is_flat)
        self.path.pop()

    def statement(self, stmt: Any, is_flat: bool) -> None:
        cls = stmt.__class__
        if cls is For:
            self.expressions(stmt.min, stmt.extent)
            self.bound.add(id(stmt.loop_var))
            if stmt.thread_binding is not None:
                self.expressions(stmt.thread_binding)
            self.scope((id(stmt), "body"), stmt.body)
            return
        if cls is BlockRealize:
            self.expressions(*stmt.iter_values, stmt.predicate)
            self.block(stmt.block)
            return
        if cls is Block:
            self.block(stmt)
            return
        if cls in _BUFFER_USERS:
            self.use(stmt.buffer)
        self.binders(stmt)
        bodies = []
        for field in stmt.__node_fields__:
            if field.role.value != "child":
                continue
            value = getattr(stmt, field.name)
            if isinstance(value, Stmt):
                bodies.append((field.name, value))
            elif field.many:
                self.expressions(*value)
            elif value is not None:
                self.expressions(value)
        if not is_flat:
            for name, value in bodies:
                self.scope((id(stmt), name), value)

    def binders(self, stmt: Any) -> None:
        """Note what a statement other than a loop or block defines."""
        cls = stmt.__class__
        if cls is LetStmt:
            self.bound.add(id(stmt.var))
        elif cls is Allocate or cls is AllocateConst:
            self.bound.add(id(stmt.buffer_var))
        elif cls is DeclBuffer:
            self.variable(stmt.buffer.data)
            self.declare(stmt.buffer)
        elif cls is AttrStmt:
            if isinstance(stmt.node, Buffer):
                self.use(stmt.node)
            elif isinstance(stmt.node, IterVar):
                self.bound.add(id(stmt.node.var))
            elif isinstance(stmt.node, Node):
                self.expressions(stmt.node)

    def block(self, block: Block) -> None:
        for iter_var in block.iter_vars:
            self.bound.add(id(iter_var.var))
            if iter_var.dom is not None:
                self.expressions(iter_var.dom)
        for buffer in block.alloc_buffers:
            self.declare(buffer)
        for match in block.match_buffers:
            self.expressions(match.source)
            self.declare(match.buffer, defines_shape=True)
        self.expressions(*block.reads, *block.writes)
        if block.init is not None:
            self.scope((id(block), "init"), block.init)
        self.scope((id(block), "body"), block.body)

    def declare(self, buffer: Buffer, defines_shape: bool = False) -> None:
        """Note a declared buffer; a new pointer, and perhaps new sizes, are defined with it."""
        self.declared.add(id(buffer))
        self.bound.add(id(buffer.data))
        parts = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        if not defines_shape:
            self.expressions(*parts)
            return
        for part in parts:
            for node in _walk(part):
                if isinstance(node, Var):
                    self.bound.add(id(node))

    def use(self, buffer: Buffer) -> None:
        """Note a use of a buffer."""
        key = id(buffer)
        if key in self.declared:
            return
        use = self.uses.get(key)
        if use is not None:
            use.also_at(self.path)
            return
        outside = self.fragment and id(buffer.data) not in self.bound
        self.uses[key] = _Use(buffer, [(FUNCTION, 0)] if outside else list(self.path))
        self.found.used.add(id(buffer.data))
        self.bound.add(id(buffer.data))
        self.expressions(*buffer.shape, *buffer.strides, buffer.elem_offset)

    def expressions(self, *roots: Any) -> None:
        """Search expressions, regions and ranges."""
        stack = list(reversed(roots))
        while stack:
            node = stack.pop()
            cls = node.__class__
            if cls is Var or cls is SizeVar:
                self.variable(node)
                continue
            if cls is BufferLoad or cls is BufferRegion:
                self.use(node.buffer)
            elif cls is Let:
                self.bound.add(id(node.var))
            elif cls is CommReducer:
                self.bound.update(map(id, (*node.lhs, *node.rhs)))
            elif cls is IterVar:
                self.bound.add(id(node.var))
            stack.extend(reversed(node.children()))

    def variable(self, var: Var) -> None:
        key = id(var)
        self.found.used.add(key)
        if key not in self.bound and key not in self.seen_free:
            self.seen_free.add(key)
            self.found.free.append(var)


_BUFFER_USERS = frozenset({BufferStore, BufferRealize, Prefetch})


def _walk(root: Node) -> list[Node]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(node.children())
    return found
