"""A program as statements with instances, and the dependences between them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Var
from tilewright.tir.analysis.access_table import TextTable
from tilewright.tir.analysis.dependence.relations import (
    conflict,
    conflict_parts,
    controls,
    footprint,
    loop_map,
    meet,
)
from tilewright.tir.analysis.dependence.solver import (
    MAX_OPERATIONS,
    answers,
    displayed,
    isl,
    limited,
)
from tilewright.tir.analysis.dependence.statements import (
    EFFECTS,
    Memory,
    Shared,
    Statement,
    shared_way,
)
from tilewright.tir.analysis.dependence.tree import statements_of
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For

NO_SIZES: Final[Mapping[Var, Var]] = MappingProxyType({})
KINDS: Final = {(True, False): "flow", (False, True): "anti", (True, True): "output"}


@dataclass(frozen=True, eq=False)
class Dependence:
    """Pairs of instances that access an element, the first one before the second.

    Attributes:
        source: the statement that comes first.
        sink: the statement that comes second.
        buffer: the buffer; None for memory that is reached in another way.
        memory: for printing, what is accessed.
        kind: ``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``
            (written twice).
        relation: an `islpy.Map` from instances of the source to instances of the sink.
    """

    source: Statement
    sink: Statement
    buffer: Buffer | None
    memory: str
    kind: str
    relation: Any


class Program:
    """What is known about a function; made by `analyze`.

    Attributes:
        func: the function.
        statements: its statements, in the order of its text.
    """

    def __init__(self, func: PrimFunc, sizes: Mapping[Var, Var] = NO_SIZES) -> None:
        """Args:
        func: the function.
        sizes: for sizes of `func`, those of another function that are the same.
        """
        self.func = func
        self.statements = statements_of(func, sizes)
        self._order: dict[tuple[int, int], Any] = {}

    @functools.cached_property
    def _around(self) -> dict[For, list[Statement]]:
        found: dict[For, list[Statement]] = {}
        for statement in self.statements:
            for loop in statement.loops:
                found.setdefault(loop, []).append(statement)
        return found

    def inside(self, loop: For) -> list[Statement]:
        """The statements in a loop."""
        return self._around.get(loop, [])

    def conflicting(self, kept: Collection[Statement] = ()) -> list[tuple[Statement, Statement]]:
        """The pairs of which one writes memory that the other one uses, or that decides whether
        it runs; pairs of `kept` statements left out."""
        known = [(statement, footprint(statement)) for statement in self.statements]
        others = [pair for pair in known if pair[0] not in kept]
        return [
            (source, sink)
            for source, first in known
            for sink, second in (others if source in kept else known)
            if meet(first, second) or controls(source, sink)
        ]

    def dependences(self) -> list[Dependence]:
        """All dependences, by the positions of the statements."""
        return [
            dependence
            for source in self.statements
            for sink in self.statements
            for dependence in self._between(source, sink)
        ]

    def _between(self, source: Statement, sink: Statement) -> list[Dependence]:
        ordered = self.ordered_conflicts(source, sink)
        if ordered is None:
            return []
        # Iterators have boxes as domains, of which loops and conditions may leave something out.
        ordered = ordered.intersect_domain(loop_map(source).map.range())
        ordered = ordered.intersect_range(loop_map(sink).map.range())
        found: list[Dependence] = []
        for part in conflict_parts(footprint(source), footprint(sink)):
            relation = part.make().intersect(ordered)
            if not relation.is_empty():
                buffer = part.buffers[0] if part.buffers[0] is part.buffers[1] else None
                name = memory_name(part.memory) if buffer is None else buffer.name
                kind = KINDS[part.writes]
                found.append(Dependence(source, sink, buffer, name, kind, relation.coalesce()))
        return found

    def ordered_conflicts(self, source: Statement, sink: Statement) -> Any:
        """Pairs of instances whose order matters, as it is in this program; None if there are none.

        They may hold instances in the domains of the iterators that the program does not run.
        Instances of one reduction that update an element are not ordered, except that the one
        which initialises comes first.
        """
        key = source.position, sink.position
        if key not in self._order:
            self._order[key] = _ordered_conflicts(source, sink)
        return self._order[key]


def memory_name(memory: Memory) -> str:
    """The name of some memory for people."""
    if isinstance(memory, str):
        return "the effect of a call" if memory is EFFECTS else memory
    return memory.name


def _ordered_conflicts(source: Statement, sink: Statement) -> Any:
    way = shared_way(source, sink)
    if way.loops == 0 and way.order >= 0:
        return None
    first, second = footprint(source), footprint(sink)
    pairs = conflict(first, second)
    if pairs is None:
        return None
    if source is sink and first.commutes:
        pairs = first.with_first(pairs)
        if pairs is None:
            return None
    if way.loops:
        pairs = _in_order(source, sink, way, pairs)
    return None if pairs is None or pairs.is_empty() else pairs


def _in_order(source: Statement, sink: Statement, way: Shared, pairs: Any) -> Any:
    """The pairs whose first instance runs before the second."""
    left, right = _iterator_of_loops(source, way.loops), _iterator_of_loops(sink, way.loops)
    if left is not None and right is not None:
        return union(earlier(pairs, left, right, also_equal=way.order < 0))
    before, after = loop_map(source).map, loop_map(sink).map
    inverse = before.reverse()
    in_loops = before.apply_range(pairs).apply_range(after.reverse())
    places = list(range(way.loops))
    found = union(earlier(in_loops, places, places, also_equal=way.order < 0))
    return None if found is None else inverse.apply_range(found).apply_range(after)


def _iterator_of_loops(statement: Statement, count: int) -> list[int] | None:
    """The iterator whose value each of the outer loops is; None if one is not an iterator."""
    places = {value: place for place, value in enumerate(statement.bindings)}
    found = [places.get(loop.loop_var, -1) for loop in statement.loops[:count]]
    return None if -1 in found else found


def earlier(pairs: Any, left: list[int], right: list[int], *, also_equal: bool) -> list[Any]:
    """The parts of `pairs` in which the first comes before the second.

    Args:
        pairs: a map.
        left: the dimensions of its domain that tell the time, the most significant first.
        right: the same of its range.
        also_equal: whether those at the same time count too.
    """
    dim_in, dim_out = isl().dim_type.in_, isl().dim_type.out
    parts = []
    for a, b in zip(left, right, strict=True):
        parts.append(pairs.order_lt(dim_in, a, dim_out, b))
        pairs = pairs.equate(dim_in, a, dim_out, b)
    if also_equal:
        parts.append(pairs)
    return parts


def union(maps: list[Any]) -> Any:
    """The union; None if it is empty."""
    found: Any = None
    for item in maps:
        if not item.is_empty():
            found = item if found is None else found.union(item)
    return found


# --- memory of programs ---------------------------------------------------------------------------

_PROGRAMS: Final[LRUCache[Program]] = LRUCache(64)


def analyze(func: PrimFunc) -> Program:
    """The statements of `func` and their dependences, which are worked out when asked for.

    The result is remembered for the functions that were asked about last.
    """
    return _PROGRAMS.get(func, None, lambda: Program(func))


class DependenceTable(TextTable[Dependence]):
    """A list of `Dependence` that prints as a table."""

    heading = ("source", "sink", "kind", "buffer", "relation")

    def row(self, item: Dependence) -> tuple[str, ...]:
        relation = relation_text(item)
        return item.source.name, item.sink.name, item.kind, item.memory, relation


def dependences(func: PrimFunc | Program) -> DependenceTable | NotProved:
    """The pairs of blocks of which instances access the same element, at least one writing it.

    An instance of a block is the values of its iterators, so the result does not change when loops
    are split, fused or reordered. Two updates of one reduction are not ordered, so a reduction
    depends on itself only through the instance that initialises::

        >>> print(tvm.tir.analysis.dependences(func))
        source  sink  kind    buffer  relation
        C       C     flow    C       (v_m, v_l, 0) -> (v_m, v_l, v_k') : v_k' > 0
        C       D     flow    C       (v_m, v_l, v_k) -> (v_m, v_l)
    """
    program = func if isinstance(func, Program) else analyze(func)
    return _table(program)


@answers
def _table(program: Program) -> DependenceTable:
    with limited(10 * MAX_OPERATIONS):
        return DependenceTable(program.dependences())


def relation_text(dependence: Dependence) -> str:
    """The pairs of instances, in the notation of isl with the names of iterators."""
    kinds = isl().dim_type
    relation = dependence.relation
    taken: set[str] = set()
    for kind, statement in ((kinds.in_, dependence.source), (kinds.out, dependence.sink)):
        for place, name in enumerate(_names(statement)):
            while name in taken:
                name += "'"
            taken.add(name)
            relation = relation.set_dim_name(kind, place, name)
    relation = relation.gist_domain(_domain(dependence.source)).gist_range(_domain(dependence.sink))
    for place in range(relation.dim(kinds.param)):
        name = relation.get_dim_name(kinds.param, place)
        relation = relation.set_dim_name(kinds.param, place, displayed(name))
    text = str(relation)
    return text[text.index("{") + 1 : text.rindex("}")].strip().replace("[", "(").replace("]", ")")


def _names(statement: Statement) -> list[str]:
    return [var.name for var in statement.iterators]


def _domain(statement: Statement) -> Any:
    from tilewright.tir.analysis.dependence.relations import footprint

    return footprint(statement).domain
