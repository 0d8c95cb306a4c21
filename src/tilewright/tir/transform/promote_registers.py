"""Elements that a loop updates again and again live in registers while it runs.

Scalar replacement (Callahan, Carr, Kennedy 1990), for scalars and for vectors: a buffer element
whose index does not change in a loop is loaded before it, kept in memory of scope ``local`` (which
every backend keeps in registers, its indices being constants), and stored after it::

    for k: C[i] = C[i] + A[k] * B[k]     ->     C_local[0] = C[i]
                                                for k: C_local[0] = C_local[0] + A[k] * B[k]
                                                C[i] = C_local[0]

It is done for the outermost loop for which it is possible. A store right before the loop gives the
first value without a detour through memory, and stores right behind it that use the elements (the
last steps of the sum, an element-wise function of it) use the registers. Elements that are only
read are held in variables, in innermost loops.

It is possible where nothing else in the loop can access the element: all accesses of its memory in
the loop are at known distances from it, and other memory is other memory (it is allocated by the
function, or the function promises `tir.noalias`); and where the loop certainly accesses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Call, Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.accesses import (
    Location,
    MemoryReference,
    MemoryReferences,
    When,
    accesses_in,
    is_opaque,
    loaded_memory,
    summarize,
)
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.analysis.ranges import EnclosingScope
from tilewright.tir.transform.building.register_file import (
    Candidate,
    RegisterAccesses,
    RegisterFile,
    indexed_memory,
    invariant_elements,
)
from tilewright.tir.transform.building.statements import (
    Conditions,
    StatementRewriter,
    guarded_stores,
    resequenced,
    same_conditions,
    statements,
)
from tilewright.tir.transform.machine import RESERVED_REGISTERS


def promote_registers(
    func: PrimFunc, *, vector_bits: int = 512, vector_registers: int = 32
) -> PrimFunc:
    """`func` with loop-invariant elements in registers.

    Args:
        func: a function over flat buffers, without vectorised or unrolled loops.
        vector_bits: width of a vector register; wider vectors take several.
        vector_registers: how many there are. Where an update needs more, only the first are used.
    """
    accesses = MemoryReferences()
    promotion = _Promotion(
        func, vector_bits, vector_registers, accesses, indexed_memory(func.body, accesses)
    )
    return func.with_body(promotion(func.body))


class _Promotion(StatementRewriter):
    def __init__(
        self,
        func: PrimFunc,
        vector_bits: int,
        vector_registers: int,
        accesses: MemoryReferences,
        indexed: set[Var],
    ) -> None:
        self._aliases = Aliases(func)
        self._scope = EnclosingScope(func)
        self._indexed = indexed
        self._vector_bits = vector_bits
        self._free = vector_registers - RESERVED_REGISTERS
        self._accesses = accesses

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        if not _has_loop(stmt):
            return self._straight_line(stmt)
        done: list[Stmt] = []
        left = list(reversed(stmt.seq))
        while left:
            part = left.pop()
            if isinstance(part, For):
                results = [self._loop(part, done, left)]
            elif _has_loop(part):
                results = [self(part)]
            else:
                results = self._before_a_loop(part, left)
            for result in results:
                done.extend(result.seq if isinstance(result, SeqStmt) else (result,))
        return resequenced(stmt, done)

    def _before_a_loop(self, first: Stmt, left: list[Stmt]) -> list[Stmt]:
        """`first` and what comes before the next loop, which is taken from the end of `left`."""
        parts = [first]
        while left and not _has_loop(left[-1]):
            parts.append(left.pop())
        if len(parts) > 1:
            together = SeqStmt(tuple(parts))
            promoted = self._straight_line(together)
            if promoted is not together:
                return [promoted]
        return [self(part) for part in parts]

    def For(self, loop: For) -> Stmt:
        return self._loop(loop, [], [])

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        return self._scope.in_branches(stmt, self)

    def _loop(self, loop: For, before: list[Stmt], behind: list[Stmt]) -> Stmt:
        """`loop` with promoted elements.

        Takes the stores that give their first values out of the end of `before`, and those that
        use their last ones out of `behind`, where the next statement comes last.
        """
        candidates = self._candidates(loop) if loop.kind is ForKind.SERIAL else []
        self._scope.enter(loop)
        if not candidates:
            return loop.map_children(self)
        stored = [c for c in candidates if c.stored]
        first, replaced = self._first_values(before, stored)
        certain = isinstance(loop.extent, IntImm)
        if not certain and len(first) < len(stored):
            first, replaced = {}, []
        elif not certain and stored:
            candidates = stored  # the loop need not run: what it only reads may not exist
        registers = RegisterFile(candidates)
        for pointer in registers.memory:
            self._aliases.add_allocated(pointer)
        needed = sum(self._cost(candidate.location) for candidate in candidates)
        self._free -= needed
        in_registers = RegisterAccesses(registers, self._accesses)
        promoted = loop.replace(body=in_registers(loop.body))
        inside = [promoted.map_children(self)]
        self._free += needed
        for stmt in replaced:
            _remove(before, stmt)
        if certain or (stored and len(first) == len(stored)):
            used = self._uses(stored, behind)
            # They may write what the loop only read.
            of_uses = RegisterAccesses(registers, self._accesses, only_stored=True)
            inside += map(of_uses, reversed(behind[len(behind) - used :]))
            del behind[len(behind) - used :]
            return registers.around(seq(*inside), first)
        return IfThenElse(as_expr(loop.extent > 0), registers.around(seq(*inside), first))

    def _straight_line(self, stmt: SeqStmt) -> Stmt:
        """Statements without a loop, where elements that they store again and again are promoted.

        They are the only iteration of a loop, which the first stores are taken out of.
        """
        stores = (part for part in statements(stmt) if isinstance(part, BufferStore))
        updated = _updated(map(self._accesses, stores))
        if all(self._is_register(location.data) for location in updated):
            return stmt
        once = For(Var("once", INT32), as_expr(0), as_expr(1), ForKind.SERIAL, stmt)
        # Guards of a tile that sticks out are better asked once, around all updates of an element.
        found = [c for c in self._elements(once) if not c.conditions]
        candidates = [c for c in found if c.location in updated]
        if not candidates:
            return stmt
        seen: set[Location | None] = set()
        before: list[Stmt] = []
        for part in stmt.seq:
            places = {self._accesses(store).location for _, store in guarded_stores(part) or ()}
            if not places or None in places or places & seen:
                break
            seen |= places
            before.append(part)
        inside = stmt.seq[len(before) :]
        first, replaced = self._first_values(before, candidates)
        for part in replaced:
            _remove(before, part)
        registers = RegisterFile(candidates)
        for pointer in registers.memory:
            self._aliases.add_allocated(pointer)
        promoted = RegisterAccesses(registers, self._accesses)(seq(*inside))
        return seq(*before, registers.around(promoted, first))

    def _uses(self, stored: Sequence[Candidate], behind: Sequence[Stmt]) -> int:
        """How many statements at the end of `behind`, in reverse order, may use the registers of
        `stored`, the last of them one that does."""
        wanted = {candidate.location: candidate for candidate in stored}
        count = 0
        for number, stmt in enumerate(reversed(behind), start=1):
            stores = guarded_stores(stmt)
            if not stores or not self._keeps_apart(stores, wanted):
                break
            if any(self._accesses(node).location in wanted for node in accesses_in(stmt)):
                count = number
        return count

    def _keeps_apart(
        self, stores: Sequence[tuple[Conditions, BufferStore]], wanted: Mapping[Location, Candidate]
    ) -> bool:
        """Whether stores access the promoted elements as a whole and where they exist, or not."""
        memories = {location.data for location in wanted}
        for conditions, store in stores:
            for node in (n for root in (*conditions, store) for n in accesses_in(root)):
                candidate = wanted.get(self._accesses(node).location)  # type: ignore[arg-type]
                if candidate is not None:
                    guards = candidate.conditions
                    if guards and not same_conditions(guards, conditions):
                        return False
                elif self._may_access(node, wanted) or self._overlap(
                    {node.buffer.data}, memories - {node.buffer.data}
                ):
                    return False
        return not any(
            isinstance(node, Call) and is_opaque(node)
            for conditions, store in stores
            for root in (*conditions, store)
            for node in walk(root)
        )

    def _first_values(
        self, before: Sequence[Stmt], stored: Sequence[Candidate]
    ) -> tuple[dict[Location, Expr], list[Stmt]]:
        """The values that statements at the end of `before` give what is promoted, and those
        statements, which do nothing else."""
        wanted = {candidate.location: candidate for candidate in stored}
        memories = {location.data for location in wanted}
        values: dict[Location, Expr] = {}
        replaced: list[Stmt] = []
        for stmt in reversed(before):
            stores = guarded_stores(stmt)
            if not stores or any(store.buffer.data not in memories for _, store in stores):
                break
            if self._overlap(loaded_memory(stmt), memories):
                break
            found = [self._first_value(*store, wanted) for store in stores]
            if all(location is not None and location not in values for location in found):
                values |= {
                    location: store.value
                    for location, (_, store) in zip(found, stores, strict=True)
                    if location is not None
                }
                replaced.append(stmt)
            elif any(self._may_access(store, wanted) for _, store in stores):
                break
        return values, replaced

    def _first_value(
        self, when: Conditions, store: BufferStore, wanted: Mapping[Location, Candidate]
    ) -> Location | None:
        """The promoted element that `store` sets exactly where it exists, if there is one."""
        location = self._accesses(store).location
        candidate = None if location is None else wanted.get(location)
        if candidate is None or not same_conditions(when, candidate.conditions):
            return None
        return location

    def _may_access(self, node: BufferLoad | BufferStore, wanted: Iterable[Location]) -> bool:
        """Whether `node` accesses some of `wanted`, in memory that they are in."""
        location = self._accesses(node).location
        if location is None:
            return any(node.buffer.data is other.data for other in wanted)
        return any(_clash(location, other) for other in wanted)

    def _overlap(self, some: set[Var], others: set[Var]) -> bool:
        return any(self._aliases.may_overlap(a, b) for a in some for b in others)

    def _cost(self, location: Location) -> int:
        """Number of registers that elements take."""
        return -(-location.lanes * location.dtype.bits // self._vector_bits)

    def _candidates(self, loop: For) -> list[Candidate]:
        if is_const_int(loop.extent) and loop.extent.value <= 1:  # type: ignore[attr-defined]
            return []
        return self._elements(loop) if self._may_have_elements(loop) else []

    def _may_have_elements(self, loop: For) -> bool:
        """Whether a look at the statements alone does not show that nothing can be promoted.

        Most outer loops have nothing, and a summary of all that they access takes long.
        """
        bound, allocated = {loop.loop_var}, set[Var]()
        stored: dict[Expr, set[Var]] = {}
        innermost = True
        for stmt in statements(loop.body):
            if isinstance(stmt, BufferStore):
                stored.setdefault(stmt.indices[0], set()).add(stmt.buffer.data)
            elif isinstance(stmt, For):
                innermost = False
                bound.add(stmt.loop_var)
            elif isinstance(stmt, Allocate):
                allocated.add(stmt.buffer_var)
        return innermost or any(
            not memory <= allocated and bound.isdisjoint(variables_of(index))
            for index, memory in stored.items()
        )

    def _elements(self, loop: For) -> list[Candidate]:
        summary = summarize(loop.body, self._accesses)
        if summary.opaque:
            return []
        summary.bound.add(loop.loop_var)
        innermost = not any(isinstance(stmt, For) for stmt in statements(loop.body))
        by_memory: dict[Var, list[tuple[MemoryReference, When]]] = {}
        for item in summary.accesses:
            by_memory.setdefault(item[0].node.buffer.data, []).append(item)
        written = {data for data, items in by_memory.items() if any(t.is_store for t, _ in items)}
        found: list[Candidate] = []
        for data, items in by_memory.items():
            if data in summary.allocated or self._is_register(data):
                continue
            if self._may_alias(data, written, set(by_memory)):
                continue
            found.extend(invariant_elements(items, summary, data in written, self._are_apart))
        stored = self._within([c for c in found if c.stored], self._free)
        if not innermost:
            # What is only read is loaded again, as inner loops want the registers.
            return stored
        # Each iteration wants registers for elements of its own, too.
        wanted = {c.location for c in stored} | _updated(access for access, _ in summary.accesses)
        free = self._free - sum(map(self._cost, wanted))
        return [*stored, *self._within([c for c in found if not c.stored], free)]

    def _are_apart(self, locations: Iterable[Location]) -> bool:
        return self._accesses.are_apart(locations, self._scope)

    def _is_register(self, data: Var) -> bool:
        """Whether it is memory of scope ``local`` at constant indices: registers already."""
        return storage_scope(data) == "local" and data not in self._indexed

    def _may_alias(self, data: Var, written: set[Var], accessed: set[Var]) -> bool:
        """Whether another memory of the loop may be the same, with one of the two written."""
        others = accessed if data in written else accessed & written
        return any(self._aliases.may_overlap(data, o) for o in others if o is not data)

    def _within(self, candidates: Sequence[Candidate], free: int) -> list[Candidate]:
        """As many as fit in `free` registers."""
        chosen: list[Candidate] = []
        for candidate in candidates:
            cost = self._cost(candidate.location)
            if cost <= free:
                chosen.append(candidate)
                free -= cost
        return chosen


def _updated(accesses: Iterable[MemoryReference]) -> set[Location]:
    """Elements that are stored more than once."""
    counts: dict[Location, int] = {}
    for access in accesses:
        if access.is_store and access.location is not None:
            counts[access.location] = counts.get(access.location, 0) + 1
    return {location for location, count in counts.items() if count > 1}


def _has_loop(stmt: Stmt) -> bool:
    return any(isinstance(part, For) for part in statements(stmt))


def _clash(location: Location, other: Location) -> bool:
    if location.data is not other.data:
        return False
    if location.terms != other.terms or location.dtype is not other.dtype:
        return True
    return location.overlaps(other)


def _remove(statements: list[Stmt], removed: Stmt) -> None:
    for position, stmt in enumerate(statements):
        if stmt is removed:
            del statements[position]
            return
