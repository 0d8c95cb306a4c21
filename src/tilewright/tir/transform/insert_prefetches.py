"""What a loop will read or write is brought into the cache some iterations ahead.

Hardware recognises streams of neighbouring cache lines within a page. A kernel that walks along
many rows, or comes back to a panel that other data has pushed out, waits for memory unless it says
early what it will read. The annotation ``software_prefetch`` of a loop does that: it maps names of
buffers to distances in iterations of the loop::

    for k in T.serial(256, annotations={"software_prefetch": {"B": 4}}):
        C[0:16] = T.fma(A[k], B[k * 16:k * 16 + 16], C[0:16])

    for k in range(256):
        T.evaluate(T.prefetch_address(B[(k + 4) * 16]))
        C[0:16] = T.fma(A[k], B[k * 16:k * 16 + 16], C[0:16])

Each load of the loop, also in loops inside of it, asks for what the same load will read that many
iterations later, and each store for what it will write, once per cache line in a run of statements.
In the last iterations that is nothing that will be used; a prefetch of any address is harmless. A
distance of 0 asks for nothing. What is read by a copy, before other loops work on it, is asked for
during that work.

A kernel copies a panel and then works on it, again and again: the copy waits for memory, and memory
waits for the work. With ``software_prefetch`` on the loop over panels, the lines that the next copy
reads are fetched in the innermost loop of the work, a few at a time::

    for p in range(49):                          for p in range(49):
        for k in range(256):                         for k in range(256):
            panel[k] = X[k, p]                           panel[k] = X[k, p]
        for i in range(8):              ->           for i in range(8):
            for k in range(64):                          for k in range(64):
                work(panel)                                  if i * 64 + k < 256:
                                                                 prefetch(X[i * 64 + k, p + 1])
                                                             work(panel)

So it is with results that are written at once behind the work::

    for p in range(49):                          for p in range(49):
        for k in range(256):                         for k in range(256):
            work(sums)                                   if k < 16:
        for i in range(16):                ->                prefetch(Y[k, (p + 1) * 16])
            Y[i, p * 16:p * 16 + 16] = sums[i]           work(sums)
                                                     for i in range(16):
                                                         Y[i, p * 16:p * 16 + 16] = sums[i]

A burst of prefetches would fill all the buffers for lines on their way to the first-level cache,
and the work would wait for one. So where loops inside of the annotated one read the same elements
again and again, each time asks for a part of what comes next::

    for p in range(49):
        for i in range(3):
            for k in range(256):
                prefetch(X[p + 1, (i * 256 + k) // 3])
                work(X[p, k])

or, where each iteration reads several lines that follow each other, for some of these lines::

    for p in range(49):
        for i in range(4):
            for k in range(256):
                prefetch(X[k, (p + 1) * 64 + i * 16])
                work(X[k, p * 64:p * 64 + 64])

Where several loops follow each other that work on the same row, short ones wait for memory and a
long one for arithmetic. Then the longest one asks for the next row, and for where its results go::

    for i in range(1024):                        for i in range(1024):
        for j in range(32):                          for j in range(32):
            m = max(m, X[i, j])                          m = max(m, X[i, j])
        for j in range(32):                          for j in range(32):
            e[j] = exp(X[i, j] - m)          ->          prefetch(X[i + 1, j])
            s = s + e[j]                                 prefetch(Y[i + 1, j])
        for j in range(32):                              e[j] = exp(X[i, j] - m)
            Y[i, j] = e[j] / s                           s = s + e[j]
                                                     for j in range(32):
                                                         Y[i, j] = e[j] / s
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.expr import IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, nodes_of, walk, walk_once
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.transform.analysis.affine import Key
from tilewright.tir.transform.building.fetched_lines import runs_of
from tilewright.tir.transform.building.spread_fetches import (
    by_lines,
    iterations_of,
    parts_of,
    parts_of_cases,
    path_of,
    spread,
)
from tilewright.tir.transform.building.statements import statements

SOFTWARE_PREFETCH = "software_prefetch"

GROUP = 8
"""Statements whose prefetches come together, in front of them."""


def insert_prefetches(func: PrimFunc) -> PrimFunc:
    """`func` with prefetches where loops are annotated with ``software_prefetch``.

    Raises:
        LoweringError: for an annotation that is not a dictionary from names to distances, or for a
            name of a buffer that no such loop reads at places that change with it and can be
            computed ahead, which takes no memory and no division that may fail.
    """
    if not any(
        isinstance(stmt, For) and SOFTWARE_PREFETCH in stmt.annotations
        for stmt in statements(func.body)
    ):
        return func
    inserting = _Inserting(_memory_by_name(func.body))
    body = inserting(func.body)
    missing = inserting.wanted - inserting.found
    if missing:
        name, loop = min(missing)
        raise LoweringError(
            f"{SOFTWARE_PREFETCH}: loop {loop} reads no buffer {name!r} at places that change "
            "with the loop and can be told ahead, without reading memory"
        )
    return func.with_body(body)


def _memory_by_name(body: Stmt) -> dict[str, set[Var]]:
    """The memory that a name of a buffer stands for.

    A buffer that an intrinsic declares over the memory of another has that one's name, too. Its own
    name counts only where no other buffer has it: it may be that of an operand by chance.
    """
    accesses = (*nodes_of(body, BufferLoad), *nodes_of(body, BufferStore))
    buffers = {access.buffer for access in accesses}
    memory: dict[str, set[Var]] = {}
    for buffer in buffers:
        memory.setdefault(buffer.data.name, set()).add(buffer.data)
    original = set(memory)
    for buffer in buffers:
        if buffer.name not in original:
            memory.setdefault(buffer.name, set()).add(buffer.data)
    return memory


class _Ahead(NamedTuple):
    """A loop that asks for what it will read.

    Attributes:
        var: its variable.
        distances: in iterations, by names of buffers.
        inner: the loops inside of it.
    """

    var: Var
    distances: Mapping[str, int]
    inner: Sequence[For]


class _Inserting(Rewriter):
    def __init__(self, memory: Mapping[str, set[Var]]) -> None:
        self._memory = memory
        self.wanted: set[tuple[str, str]] = set()
        self.found: set[tuple[str, str]] = set()
        self._ahead: list[_Ahead] = []
        self._around: list[Var] = []
        self._done: set[Key] = set()  # the lines that an iteration has asked for

    def For(self, loop: For) -> Stmt:
        self._around.append(loop.loop_var)
        done, self._done = self._done, set()
        try:
            return self._loop(loop)
        finally:
            self._around.pop()
            self._done = done

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        done, cases = self._done, []
        for case in (stmt.then_case, stmt.else_case):
            self._done = set(done)  # what a case asks for is certain in this case only
            cases.append(None if case is None else self(case))
        self._done = done
        return stmt.replace(then_case=cases[0], else_case=cases[1])

    def _loop(self, loop: For) -> Stmt:
        if SOFTWARE_PREFETCH not in loop.annotations:
            return loop.map_children(self)
        distances = _distances(loop)
        kept = {k: v for k, v in loop.annotations.items() if k != SOFTWARE_PREFETCH}
        self.wanted.update((name, loop.loop_var.name) for name in distances)
        body, inside = loop.body, dict(distances)
        for name, distance in distances.items():
            memory = self._memory.get(name, set())
            found = (
                copy_and_work(body, memory)
                or row_and_work(body, memory)
                or work_and_results(body, memory)
            )
            if found is not None:
                copy, work = found
                fetch = self._fetch(copy.body, loop.loop_var, {name: distance})
                if fetch is not None and _knows_its_variables(fetch, copy):
                    body = spread(body, copy.replace(body=fetch), work)
                    del inside[name]
        if inside:
            inner = path_of(loop, parts_of_cases, symbolic=True)[1:]
            self._ahead.append(_Ahead(loop.loop_var, inside, inner))
        body = self(body)
        if inside:
            self._ahead.pop()
        return loop.replace(body=body, annotations=kept)

    def _fetch(self, stmt: Stmt, var: Var, distances: Mapping[str, int]) -> Stmt | None:
        """`stmt` with prefetches for what it reads, and nothing else."""
        outer, self._ahead = self._ahead, [_Ahead(var, distances, ())]
        fetches = _Fetches(self._prefetches)(stmt)
        self._ahead = outer
        return fetches

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        if not self._ahead:
            return stmt.map_children(self)
        parts: list[Stmt] = []
        run: list[Stmt] = []
        for part in stmt.seq:
            if isinstance(part, (BufferStore, Evaluate)):
                run.append(part)
                continue
            parts += [*self._with_prefetches(run), self(part)]
            run = []
        return seq(*parts, *self._with_prefetches(run))

    def BufferStore(self, store: BufferStore) -> Stmt:
        return seq(*self._with_prefetches([store]))

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        return seq(*self._with_prefetches([stmt]))

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        return seq(*self._prefetches([stmt.value], set()), stmt.replace(body=self(stmt.body)))

    def _with_prefetches(self, run: Sequence[Stmt]) -> list[Stmt]:
        """The statements of `run`, each group with its prefetches in front."""
        parts: list[Stmt] = []
        for start in range(0, len(run), GROUP):
            group = run[start : start + GROUP]
            parts += [*self._prefetches(group, self._done), *group]
        return parts

    def _prefetches(self, nodes: Sequence[Node], done: set[Key]) -> list[Stmt]:
        """What to fetch ahead of the accesses in `nodes`, except for the lines in `done`."""
        found: list[Stmt] = []
        if not self._ahead:
            return found
        parts = (part for node in nodes for part in walk(node))
        accesses = [part for part in parts if isinstance(part, (BufferLoad, BufferStore))]
        for var, distances, path in self._ahead:
            inner = path if all(loop.loop_var in self._around for loop in path) else ()
            for name, distance in distances.items():
                memory = self._memory.get(name, set())
                named = [access for access in accesses if access.buffer.data in memory]
                runs = runs_of(named, var, done)
                if runs is not None:
                    self.found.add((name, var.name))
                    found += (fetch for run in runs for fetch in run.ahead(var, distance, inner))
        return found


class _Fetches:
    """Makes of statements the prefetches of what they read, and of what they bind."""

    def __init__(self, prefetches: Callable[[Sequence[Node], set[Key]], list[Stmt]]) -> None:
        self._prefetches = prefetches

    def __call__(self, stmt: Stmt) -> Stmt | None:
        done: set[Key] = set()
        found: list[Stmt] = []
        for part in parts_of(stmt, with_definitions=True):
            if isinstance(part, For):
                inner = self(part.body)
                if inner is not None:
                    found.append(by_lines(part.replace(body=inner)))
            else:
                nodes = [part.value if isinstance(part, LetStmt) else part]
                found += self._prefetches(nodes, done)
        return seq(*found) if found else None


def _knows_its_variables(fetch: Stmt, copy: For) -> bool:
    """Whether `fetch`, made of the body of `copy`, has what that binds: the loops around it."""
    bound = {s.loop_var for s in statements(copy.body) if isinstance(s, For)}
    bound |= {s.var for s in statements(copy.body) if isinstance(s, LetStmt)}
    known = {s.loop_var for s in statements(fetch) if isinstance(s, For)}
    return not any(isinstance(n, Var) and n in bound and n not in known for n in walk(fetch))


def _distances(loop: For) -> dict[str, int]:
    """The annotation of `loop`."""
    value = loop.annotations[SOFTWARE_PREFETCH]
    if isinstance(value, Mapping) and all(isinstance(d, IntImm) for d in value.values()):
        return {str(name): distance.value for name, distance in value.items() if distance.value}
    raise LoweringError(
        f"{SOFTWARE_PREFETCH} of loop {loop.loop_var.name} must map names of buffers to numbers of "
        f"iterations, got {value!r}"
    )


def copy_and_work(body: Stmt, memory: set[Var]) -> tuple[For, For] | None:
    """The nest in `body`, a sequence, that alone reads a buffer, and a nest behind it."""
    parts = list(parts_of(body))
    readers = [position for position, part in enumerate(parts) if _reads(part, memory)]
    if len(readers) != 1:
        return None
    (copy,) = readers
    return _with_longest(parts[copy], parts[copy + 1 :])


def work_and_results(body: Stmt, memory: set[Var]) -> tuple[For, For] | None:
    """The nest in `body`, a sequence, that alone uses a buffer and writes it, and a nest in front
    of it."""
    parts = list(parts_of(body))
    users = [i for i, part in enumerate(parts) if _reads(part, memory) or _writes(part, memory)]
    if len(users) != 1 or not _writes(parts[users[0]], memory):
        return None
    (results,) = users
    return _with_longest(parts[results], parts[:results])


def _with_longest(nest: Stmt, others: Sequence[Stmt]) -> tuple[For, For] | None:
    """A statement and the nest with the most iterations of others, if both are nests."""
    loops = [part for part in others if isinstance(part, For)]
    if not isinstance(nest, For) or not isinstance(nest.extent, IntImm) or not loops:
        return None
    return nest, max(loops, key=iterations_of)


def row_and_work(body: Stmt, memory: set[Var]) -> tuple[For, For] | None:
    """A loop in `body`, a sequence, over all that it needs of a buffer, and the longest.

    That is known where several loops read the same row, or one writes it: loops with as many
    iterations, and none inside of them.
    """
    parts = list(parts_of(body))
    loops = [p for p in parts if isinstance(p, For) and isinstance(p.extent, IntImm)]
    using = [part for part in parts if _reads(part, memory) or _writes(part, memory)]
    rows = [part for part in loops if part in using and len(path_of(part)) == 1]
    if len(rows) != len(using) or len({iterations_of(row) for row in rows}) != 1:
        return None
    if len(loops) == 1 or not (len(rows) > 1 or _writes(rows[0], memory)):
        return None
    return rows[0], max(loops, key=_work)


def _work(loop: For) -> int:
    """About how many operations a nest of loops takes."""
    innermost = (path_of(loop) or [loop])[-1]
    return iterations_of(loop) * sum(1 for _ in walk(innermost.body))


def _reads(stmt: Stmt, memory: set[Var]) -> bool:
    return any(
        isinstance(node, BufferLoad) and node.buffer.data in memory for node in walk_once(stmt)
    )


def _writes(stmt: Stmt, memory: set[Var]) -> bool:
    return any(
        isinstance(node, BufferStore) and node.buffer.data in memory for node in walk_once(stmt)
    )
