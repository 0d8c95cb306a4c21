"""Whether two threads may access the same element, by integer sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.ir.expr import Call, Expr, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Visitor
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.example import VERBS, sample_point
from tilewright.tir.analysis.dependence.solver import answers, limited, read_set
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import AttrStmt, BufferStore, For, IfThenElse, LetStmt, Stmt
from tilewright.tir.tile_operations import tile_operation_of
from tilewright.tir.transform.device.thread_axes import BLOCKS, THREADS, Axis


class Access(NamedTuple):
    """A load or a store in a kernel.

    Attributes:
        buffer: what is accessed.
        indices: where; empty for any element.
        is_write: whether it is a store, or an atomic addition.
        inner: the variables that may have another value in each execution: those of the loops
            between it and the place where accesses are compared, and of definitions.
        conditions: what holds there, and whether it is the opposite that holds.
        is_atomic: whether another thread may do the same at the same time.
        by_warp: whether the threads of a warp do it together, each a part that is not known.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    is_write: bool
    inner: tuple[For | LetStmt | Let, ...] = ()
    conditions: tuple[tuple[Expr, bool], ...] = ()
    is_atomic: bool = False
    by_warp: bool = False

    def inside(self, node: For | LetStmt | Let) -> Access:
        """The access as it is seen from outside of a loop or a definition."""
        return self._replace(inner=(*self.inner, node))

    def where(self, condition: Expr, negated: bool) -> Access:
        """The access under a condition."""
        return self._replace(conditions=(*self.conditions, (condition, negated)))


def accesses_in(stmt: Stmt, *, private: bool = False) -> list[Access]:
    """What a statement accesses of the memory that threads share; with `private`, of all memory."""
    collector = _Collector(private)
    collector.visit(stmt)
    return collector.accesses


class _Collector(Visitor):
    def __init__(self, private: bool) -> None:
        self._private = private
        self.accesses: list[Access] = []
        self._inner: tuple[For | LetStmt | Let, ...] = ()
        self._conditions: tuple[tuple[Expr, bool], ...] = ()
        self._by_warp = False

    def _add(
        self,
        buffer: Buffer,
        indices: tuple[Expr, ...],
        is_write: bool,
        is_atomic: bool = False,
    ) -> None:
        if self._private or owner_of(buffer.scope()) is not MemoryOwner.THREAD:
            inner = self._inner[::-1]
            self.accesses.append(
                Access(buffer, indices, is_write, inner, self._conditions, is_atomic, self._by_warp)
            )

    def BufferLoad(self, load: BufferLoad) -> None:
        self._add(load.buffer, load.indices, False)
        self.visit_children(load)

    def BufferStore(self, store: BufferStore) -> None:
        self.visit_children(store)
        self._add(store.buffer, store.indices, True)

    def AttrStmt(self, stmt: AttrStmt) -> None:
        outer, self._by_warp = self._by_warp, tile_operation_of(stmt) is not None
        self.visit_children(stmt)
        self._by_warp = outer

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self._within(loop, loop.body)

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.visit(let.value)
        self._within(let, let.body)

    Let = LetStmt

    def _within(self, node: For | LetStmt | Let, body: Node) -> None:
        outer, self._inner = self._inner, (*self._inner, node)
        self.visit(body)
        self._inner = outer

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self._branches(stmt.condition, stmt.then_case, stmt.else_case)

    def Call(self, call: Call) -> None:
        if getattr(call.op, "name", "") == "tir.if_then_else":
            condition, yes, no = call.args
            self.visit(condition)
            self._branches(condition, yes, no)
        elif getattr(call.op, "name", "") == "tir.atomic_add":
            element: BufferLoad = call.args[0].args[0]  # type: ignore[attr-defined]
            for part in (*element.indices, call.args[1]):
                self.visit(part)
            self._add(element.buffer, element.indices, True, is_atomic=True)
        else:
            if getattr(call.op, "name", "") == "tir.ptx_ldmatrix":
                self._add_loaded_matrices(call)
            self.visit_children(call)

    def _add_loaded_matrices(self, call: Call) -> None:
        """Somewhere in the memory that `call` has a pointer to, a warp reads."""
        pointer = call.args[5]
        if isinstance(pointer, Var):
            self._add(decl_buffer((), call.dtype, data=pointer), (), False)

    def _branches(self, condition: Expr, yes: Node, no: Node | None) -> None:
        outer = self._conditions
        for body, negated in ((yes, False), (no, True)):
            if body is not None:
                self._conditions = (*outer, (condition, negated))
                self.visit(body)
        self._conditions = outer


class ThreadConflicts:
    """Finds accesses of two threads of which one does not wait for the other.

    Args:
        axes: those of the kernel.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self._axes = axes

    def among_threads(self, first: Access, second: Access) -> bool:
        """Whether two threads of one block may access the same element, one of them writing.

        What is too complicated to decide may be so.
        """
        return self._exists(first, second, THREADS, BLOCKS) is not False

    def certainly_among_threads(self, first: Access, second: Access) -> bool:
        """Whether two threads of one block are known to access the same element, one writing."""
        return self._exists(first, second, THREADS, BLOCKS) is True

    def among_blocks(self, first: Access, second: Access) -> bool:
        """Whether threads of two blocks certainly access the same element, one of them writing.

        What is too complicated to decide here is left to the proof of the step that bound a loop.
        """
        return self._exists(first, second, BLOCKS, ()) is True

    def certainly_along(self, axis: str, first: Access, second: Access) -> bool:
        """Whether threads that differ along one axis only are known to access the same element,
        one writing."""
        others = [other.tag for other in self._axes if other.tag != axis]
        return self._exists(first, second, (axis,), others) is True

    def threads_that_meet(self, first: Access, second: Access) -> str:
        """Two threads of one block that access the same element; empty if none are found."""
        return self._example(first, second, THREADS, BLOCKS)

    def blocks_that_meet(self, first: Access, second: Access) -> str:
        """Threads of two blocks that access the same element; empty if none are found."""
        return self._example(first, second, BLOCKS, ())

    def _example(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> str:
        sides, pairs = self._meeting(first, second, differing, same)
        with limited():
            found = answers(sample_point)(pairs)
        if isinstance(found, NotProved):
            return ""
        values = iter(found.first)
        one, other = (
            ", ".join(f"{axis.tag}={next(values)}" for axis in side.axes) for side in sides
        )
        verbs = [VERBS[access.is_write] for access in (first, second)]
        element = f"{first.buffer.name}[{', '.join(map(str, values))}]"
        return f"{element}: {verbs[0]} by thread ({one}) and {verbs[1]} by thread ({other})"

    def _exists(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> bool | None:
        """Whether there are two threads that meet; None where that cannot be told."""
        if first.buffer.data is not second.buffer.data or not first.is_write | second.is_write:
            return False
        if first.is_atomic and second.is_atomic:
            return False
        if not self._apart(first, second, differing):
            return False
        if first.buffer is not second.buffer or not first.indices or not second.indices:
            return None
        with limited():
            found = answers(self._meet)(first, second, differing, same)
        return None if isinstance(found, NotProved) else found

    def _apart(self, first: Access, second: Access, differing: Sequence[str]) -> list[str]:
        """The axes along which two threads may differ that do not wait for each other."""
        apart = [axis.tag for axis in self._axes if axis.tag in differing]
        if first.by_warp and second.by_warp and first.is_write and second.is_write:
            # A warp does one after the other, and its threads have the same parts.
            apart = [tag for tag in apart if tag != "threadIdx.x"]
        return apart

    def _meet(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> bool | None:
        """What isl finds."""
        sides, pairs = self._meeting(first, second, differing, same)
        if pairs.is_empty():
            return False
        return True if all(side.exact for side in sides) else None

    def _meeting(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> tuple[list[_Side], Any]:
        """Both sides, and the set of pairs of threads that meet, and where."""
        apart = self._apart(first, second, differing)
        sides = [
            _Side(access, self._axes, letter, same)
            for access, letter in ((first, "a"), (second, "b"))
        ]
        equal = [
            f"{one} = {other}" for one, other in zip(*(s.elements for s in sides), strict=True)
        ]
        differ = " or ".join(f"{sides[0].name(tag)} != {sides[1].name(tag)}" for tag in apart)
        places = [f"e{number}" for number in range(len(sides[0].elements))]
        equal += [f"{place} = {one}" for place, one in zip(places, sides[0].elements, strict=True)]
        names = [*(name for side in sides for name in side.names), *places]
        unknowns = [name for side in sides for name in side.unknowns]
        known = [condition for side in sides for condition in side.conditions]
        body = " and ".join([*equal, f"({differ})", *known])
        if unknowns:
            body = f"exists ({', '.join(unknowns)} : {body})"
        parameters = dict.fromkeys(name for side in sides for name in side.parameters)
        return sides, read_set(f"[{', '.join(parameters)}] -> {{ [{', '.join(names)}] : {body} }}")


class _Side:
    """One access as conditions of isl, its variables named apart from those of the other one.

    Attributes:
        axes: those along which the thread is free.
        elements: the indices.
        names: the dimensions: the axes of the thread.
        unknowns: other variables.
        conditions: what is known of both.
        parameters: the sizes.
        exact: whether they say all that is known.
    """

    def __init__(
        self, access: Access, axes: Sequence[Axis], letter: str, same: Sequence[str]
    ) -> None:
        self._letter = letter
        self.axes = own = [axis for axis in axes if axis.tag not in same]
        scope: dict[Var, object] = {axis.var: self.name(axis.tag) for axis in own}
        for node in access.inner:
            if isinstance(node, For):
                scope[node.loop_var] = node
            else:
                scope[node.var] = node.value
        affine = Affine(scope)  # type: ignore[arg-type]
        elements = [affine.text(index) for index in access.indices]
        conditions = [affine.formula(*condition) for condition in access.conditions]
        for axis in own:
            name = self.name(axis.tag)
            conditions.append(f"0 <= {name} < {affine.text(axis.extent)}")
        names = {name: f"{letter}_{name}" for name in affine.unknowns}
        self.elements = [renamed(text, names) for text in elements]
        self.conditions = [renamed(text, names) for text in (*conditions, *affine.constraints)]
        self.unknowns = list(names.values())
        self.names = [self.name(axis.tag) for axis in own]
        self.parameters, self.exact = affine.parameters, affine.exact

    def name(self, tag: str) -> str:
        """The dimension of an axis."""
        return f"{self._letter}_{tag.replace('.', '_')}"


def renamed(text: str, names: dict[str, str]) -> str:
    """A text of isl with other names."""
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)
