"""Memory of buffers that are dead is used again.

Allocations that surround a sequence of statements are looked at together. Each lives from the
first statement that mentions it to the last. One that starts after another has ended takes over
its memory, if scope, element type and size fit. It may even start in the statement in which the
other one ends, if that statement works in place: each instance reads the old element and then
writes the new one to the same position, and no other instance accesses that position (``D[i] =
exp(C[i])``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Call, Expr, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.tir.access import collect_accesses
from tilewright.tir.buffer import Buffer, BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, AttrStmt, BufferStore, For, SeqStmt, Stmt
from tilewright.tir.substitute import BufferRewriter
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.device.thread_axes import is_bound
from tilewright.tir.transform.hoist_init import is_injective

NAMING: Final = ("software_prefetch", "nontemporal_stores")
"""Annotations of loops that name buffers."""

_SCOPES = ("global", "local")
"""Scopes in which the end of a statement is the end of its accesses, for every thread."""


def storage_rewrite(func: PrimFunc) -> PrimFunc:
    """`func` with fewer allocations; its buffers must be flat (see `flatten_buffers`)."""
    return func.with_body(_Reuse()(func.body))


class _Lifetime(NamedTuple):
    """The statements, by position, of first and last use of an allocation."""

    first: int
    last: int


class _Slot:
    """Memory that is kept, and how long it is in use."""

    def __init__(self, allocation: Allocate, last: int, tenant: Allocate) -> None:
        self.allocation, self.last, self.tenant = allocation, last, tenant


class _Reuse(BufferRewriter):
    """Walks down to the allocations, and renames buffers whose memory moves."""

    def __init__(self) -> None:
        BufferRewriter.__init__(self)
        self._moved: dict[Var, Var] = {}
        self._ranges = Ranges()

    def map_buffer(self, buffer: Buffer) -> Buffer:
        target = self._moved.get(buffer.data)
        return buffer if target is None else buffer.replace(data=target, name=target.name)

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        new = loop.map_children(self)
        named = [key for key in NAMING if key in loop.annotations]
        if not named or not self._moved:
            return new
        names = {old.name: target.name for old, target in self._moved.items()}
        renamed = {key: _renamed(loop.annotations[key], names) for key in named}
        return new.replace(annotations={**loop.annotations, **renamed})

    def Allocate(self, stmt: Allocate) -> Stmt:
        chain: list[Allocate] = []
        body: Stmt = stmt
        while isinstance(body, Allocate):
            chain.append(body)
            body = body.body
        statements = body.seq if isinstance(body, SeqStmt) else (body,)
        if len(chain) > 1 and len(statements) > 1:
            self._assign(chain, statements)
        kept = [a for a in chain if a.buffer_var not in self._moved]
        body = self(body)
        for allocation in reversed(kept):
            if body is not allocation.body:
                allocation = allocation.replace(body=body)
            body = allocation
        return body

    def _assign(self, chain: list[Allocate], statements: tuple[Stmt, ...]) -> None:
        """Decide which allocations of the chain move into the memory of others."""
        candidates = {a.buffer_var: a for a in chain if _is_plain(a)}
        lifetimes = _lifetimes(statements, candidates)
        slots: list[_Slot] = []
        order = sorted(lifetimes.items(), key=lambda item: item[1].first)
        for var, (first, last) in order:
            allocation = candidates[var]
            slot = next(
                (s for s in slots if s.last < first and _fits(allocation, s.allocation)), None
            )
            if slot is None:
                slot = next(
                    (
                        s
                        for s in slots
                        if s.last == first
                        and _fits(allocation, s.allocation)
                        and _works_in_place(statements[first], s.tenant, allocation, self._ranges)
                    ),
                    None,
                )
            if slot is None:
                slots.append(_Slot(allocation, last, allocation))
            else:
                slot.last, slot.tenant = last, allocation
                self._moved[var] = slot.allocation.buffer_var


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Names of buffers, as keys of a dictionary or items of a list, after they have moved."""
    if isinstance(value, Mapping):
        return {names.get(name, name): item for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(names.get(name, name) if isinstance(name, str) else name for name in value)
    return value


def _is_plain(allocation: Allocate) -> bool:
    """Whether nothing but the size distinguishes the allocation."""
    always = is_const_int(allocation.condition, 1)
    return always and storage_scope(allocation.buffer_var) in _SCOPES and not allocation.annotations


def _fits(new: Allocate, old: Allocate) -> bool:
    """Whether the memory of `old` holds what `new` needs."""
    same_type = new.dtype is old.dtype and storage_scope(new.buffer_var) == storage_scope(
        old.buffer_var
    )
    if not same_type or len(new.extents) != len(old.extents):
        return False
    return all(
        a is b or affine(a) == affine(b) for a, b in zip(new.extents, old.extents, strict=True)
    )


def _lifetimes(
    statements: tuple[Stmt, ...], candidates: dict[Var, Allocate]
) -> dict[Var, _Lifetime]:
    """For each candidate that only loads and stores mention: when it is in use."""
    found: dict[Var, _Lifetime] = {}
    escaped: set[Var] = set()
    for position, stmt in enumerate(statements):
        for var, is_access in _mentions(stmt):
            if var not in candidates:
                continue
            if not is_access:
                escaped.add(var)
            known = found.get(var)
            found[var] = _Lifetime(known.first if known else position, position)
    return {var: lifetime for var, lifetime in found.items() if var not in escaped}


def _mentions(root: Node) -> Iterator[tuple[Var, bool]]:
    """The pointers that are mentioned, and whether by a load or a store of an element."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, (BufferLoad, BufferStore)):
            yield node.buffer.data, True
        elif isinstance(node, Var):
            yield node, False
        elif isinstance(node, Call) and node.dtype.is_handle:
            # The address of an element, which may be used later.
            for arg in node.args:
                if isinstance(arg, BufferLoad):
                    yield arg.buffer.data, False
        elif isinstance(node, AttrStmt) and isinstance(node.node, (Var, Buffer)):
            yield node.node if isinstance(node.node, Var) else node.node.data, False
        stack.extend(node.children())


def _works_in_place(stmt: Stmt, old: Allocate, new: Allocate, ranges: Ranges) -> bool:
    """Whether the only store to `new` reads `old` at its own position only, which no other
    instance accesses."""
    pointers = (old.buffer_var, new.buffer_var)
    accesses = [a for a in collect_accesses(stmt).accesses if a.memory in pointers]
    if any(not a.around.is_certain or any(map(is_bound, a.around.loops)) for a in accesses):
        return False
    stores = [access for access in accesses if access.is_write]
    if len(stores) != 1 or stores[0].memory is not new.buffer_var:
        return False
    target = stores[0]
    place = _position(target.node)
    for access in accesses:
        if access is target:
            continue
        if access.memory is new.buffer_var or access.store is not target.node:
            return False
        other = _position(access.node)
        if place is None or other is None or affine(place) != affine(other):
            return False
    if place is None:
        return False
    for loop in target.around.loops:
        ranges.bind(loop.loop_var, loop.min, loop.extent)
    return is_injective((place,), target.around.loops, ranges)


def _position(access: Node) -> Expr | None:
    """The index of a scalar access without mask."""
    if not isinstance(access, (BufferLoad, BufferStore)):
        return None
    if access.predicate is not None or len(access.indices) != 1:
        return None
    index = access.indices[0]
    return index if index.dtype.lanes == 1 and access.buffer.dtype.lanes == 1 else None
