"""isl relations of statements: loops to instances, instances to elements, instances in conflict.

What belongs to a block (its domain and accesses) is kept by the identity of the block, so the
programs that a schedule goes through share it: only bindings of changed loops are new.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import IntImm
from tilewright.tir.analysis.dependence.accesses import accesses_of
from tilewright.tir.analysis.dependence.affine import Affine
from tilewright.tir.analysis.dependence.solver import (
    UndecidedError,
    boxed,
    isl,
    linear_map,
    parameter_name,
    read_map,
    read_set,
    text_of,
)
from tilewright.tir.analysis.dependence.statements import ANYTHING, Memory, Statement
from tilewright.tir.analysis.reduction import Reduction, match_reduction
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.expr import IterType

_FOOTPRINTS: Final[LRUCache[StatementAccesses]] = LRUCache(2048)
_LOOP_MAPS: Final[LRUCache[LoopMap]] = LRUCache(2048)


def quantified(parameters: Iterable[str], disjuncts: Iterable[str]) -> str:
    """The text of a set or map that mentions sizes."""
    names = ", ".join(dict.fromkeys(parameters))
    return f"[{names}] -> {{ {'; '.join(disjuncts)} }}"


# --- loops to instances -----------------------------------------------------------------------


class LoopMap(NamedTuple):
    """From values of the loops around a statement to the instance that they run.

    Attributes:
        map: the relation.
        exact: whether just these instances run; otherwise some of them may not.
    """

    map: Any
    exact: bool


def loop_map(statement: Statement) -> LoopMap:
    """Which instance each iteration of the loops around a statement runs."""
    loops = [(loop.loop_var, loop.min, loop.extent) for loop in statement.loops]
    keep = loops, statement.bindings, statement.guards, statement.scope
    return _LOOP_MAPS.get(statement.signature, keep, lambda: _make_loop_map(statement))


def _make_loop_map(statement: Statement) -> LoopMap:
    affine = Affine(statement.scope)
    names = [f"l{number}" for number in range(len(statement.loops))]
    ranges = [Range.from_min_extent(loop.min, loop.extent) for loop in statement.loops]
    conditions, bounds = _inside(names, ranges, affine)
    conditions += [affine.formula(guard.expr, guard.negated) for guard in statement.guards]
    values = [affine.linear(value) for value in statement.bindings]
    places = {name: place for place, name in enumerate(names)}
    if conditions or any(term not in places for form in values for term in form.terms):
        text = affine.relation(names, list(map(text_of, values)), conditions)
        found = read_map(quantified(affine.parameters, [text]))
    else:
        found = linear_map(places, values)
    if bounds:
        found = found.intersect_domain(boxed(_everywhere(found), bounds))
    return LoopMap(found, affine.exact)


def _everywhere(relation: Any) -> Any:
    return isl().Set.universe(relation.get_space().domain())


def _inside(
    names: Sequence[str], domains: Sequence[Range | None], affine: Affine
) -> tuple[list[str], dict[int, tuple[int, int]]]:
    """That dimensions are in their domains: as conditions, and by place those that are numbers."""
    conditions: list[str] = []
    bounds: dict[int, tuple[int, int]] = {}
    for place, (name, domain) in enumerate(zip(names, domains, strict=True)):
        if domain is None:
            continue
        if isinstance(domain.min, IntImm) and isinstance(domain.extent, IntImm):
            bounds[place] = domain.min.value, domain.min.value + domain.extent.value - 1
        else:
            low, size = affine.text(domain.min), affine.text(domain.extent)
            conditions.append(f"{low} <= {name} < {low} + {size}")
    return conditions, bounds


# --- instances to elements --------------------------------------------------------------------


class StatementAccesses:
    """What the instances of a statement read and write, and which instances there may be."""

    def __init__(self, statement: Statement) -> None:
        self.accesses = accesses_of(statement.stmt, statement.around)
        self.reads = frozenset(a.memory for a in self.accesses if not a.is_write)
        self.writes = frozenset(a.memory for a in self.accesses if a.is_write)
        self.is_anywhere = ANYTHING in self.reads or ANYTHING in self.writes
        self._block, self._iterators = statement.block, statement.iterators
        self._domains = statement.domains
        self._relations: dict[tuple[Buffer | None, bool], Any] = {}
        self.conflicts: WeakKeyDictionary[StatementAccesses, dict[frozenset[Memory], Any]]
        self.conflicts = WeakKeyDictionary()
        """For each other footprint, what `conflict` found."""

    @functools.cached_property
    def domain(self) -> Any:
        """The set of instances that the domains of the iterators allow."""
        names = [f"i{number}" for number in range(len(self._iterators))]
        affine = Affine(dict(zip(self._iterators, names, strict=True)))
        conditions, bounds = _inside(names, self._domains, affine)
        text = affine.points(names, conditions)
        return boxed(read_set(quantified(affine.parameters, [text])), bounds)

    @functools.cached_property
    def first(self) -> Any:
        """The instances in which all reduction iterators are at the start: `init` runs there."""
        names = [f"i{number}" for number in range(len(self._iterators))]
        affine = Affine(dict(zip(self._iterators, names, strict=True)))
        block = self._block
        assert block is not None
        own = names[len(names) - len(block.iter_vars) :]
        conditions = tuple(
            f"{name} = {affine.text(item.dom.min)}"
            for name, item in zip(own, block.iter_vars, strict=True)
            if item.iter_type is IterType.COMM_REDUCE and item.dom is not None
        )
        text = affine.points(names, conditions)
        return read_set(quantified(affine.parameters, [text]))

    def relation(self, buffer: Buffer, is_write: bool) -> Any:
        """From instances to the elements of a buffer that they read, or that they write."""
        found = self._relations.get((buffer, is_write))
        if found is None:
            chosen = [a for a in self.accesses if a.buffer is buffer and a.is_write is is_write]
            parameters = [name for a in chosen for name in a.parameters]
            text = quantified(parameters, dict.fromkeys(a.relation for a in chosen))
            found = read_map(text).intersect_domain(self.domain)
            self._relations[buffer, is_write] = found
        return found

    def with_first(self, pairs: Any) -> Any:
        """The pairs of which one instance initialises what both update; None if there are none."""
        block = self._block
        if block is None or block.init is None:
            return None
        return pairs.intersect_domain(self.first).union(pairs.intersect_range(self.first))

    @functools.cached_property
    def reduction(self) -> Reduction | None:
        """What instances do that update one element; None for anything but a reduction."""
        return None if self._block is None else match_reduction(self._block)

    @property
    def commutes(self) -> bool:
        """Whether instances that update one element may do so in any order."""
        return self.reduction is not None and self.reduction.is_order_free


def footprint(statement: Statement) -> StatementAccesses:
    """What the instances of a statement read and write."""
    known = statement.facts.get("footprint")
    if known is not None:
        return known
    around = statement.around
    key = (
        id(statement.stmt),
        tuple(map(id, around.iterators)),
        tuple(map(id, statement.domains)),
        tuple((id(memory), count) for memory, count in around.versions.items() if count),
        tuple(map(id, around.views)),
    )
    keep = statement.stmt, around, statement.domains
    found = _FOOTPRINTS.get(key, keep, lambda: StatementAccesses(statement))
    _check_isolated(statement, found)
    statement.facts["footprint"] = found
    return found


def _check_isolated(statement: Statement, found: StatementAccesses) -> None:
    """A block that mentions a loop variable from outside has no instances as defined here."""
    used = {name for access in found.accesses for name in access.parameters}
    for var in statement.scope:
        if used and parameter_name(var) in used:
            raise UndecidedError(f"{statement.name} mentions the variable {var.name} from outside")


# --- instances in conflict ----------------------------------------------------------------------


def meet(first: StatementAccesses, second: StatementAccesses) -> bool:
    """Whether two footprints share memory that one of them writes."""
    if not (first.writes or second.writes):
        return False
    if first.is_anywhere or second.is_anywhere:
        return True
    return not (
        first.writes.isdisjoint(second.writes)
        and first.writes.isdisjoint(second.reads)
        and first.reads.isdisjoint(second.writes)
    )


def controls(source: Statement, sink: Statement) -> bool:
    """Whether one statement writes what decides how the other one runs."""
    if not (source.control or sink.control):
        return False
    return not (
        footprint(source).writes.isdisjoint(sink.control)
        and footprint(sink).writes.isdisjoint(source.control)
    )


def conflict(
    first: StatementAccesses, second: StatementAccesses, ignore: frozenset[Memory] = frozenset()
) -> Any:
    """Pairs of instances that access one element, one of them writing it; None if there are none.

    Memory in `ignore` does not count.
    """
    known = first.conflicts.setdefault(second, {})
    ignore = ignore & (first.writes | second.writes)
    if ignore not in known:
        known[ignore] = _make_conflict(first, second, ignore)
    return known[ignore]


def _make_conflict(
    first: StatementAccesses, second: StatementAccesses, ignore: frozenset[Memory]
) -> Any:
    found: Any = None
    done: set[Any] = set()
    for part in conflict_parts(first, second):
        if part.texts in done or part.memory in ignore:
            continue
        done.add(part.texts)
        relation = part.make()
        found = relation if found is None else found.union(relation)
    if found is None or found.is_empty():
        return None
    return found.coalesce()


class Part(NamedTuple):
    """Pairs of instances that access the same element in one way.

    Attributes:
        memory: of which memory; the pointer variable or a name.
        buffers: of which buffer, for both instances; None for an unknown place.
        writes: which of the two write.
        texts: equal for parts that hold the same pairs.
        make: gives the relation.
    """

    memory: Memory
    buffers: tuple[Buffer | None, Buffer | None]
    writes: tuple[bool, bool]
    texts: Any
    make: Callable[[], Any]


def conflict_parts(first: StatementAccesses, second: StatementAccesses) -> Iterable[Part]:
    """The ways in which instances of two statements access the same element."""
    for a, b in dict.fromkeys(_pairs(first, second)):
        buffers, writes = (a[1], b[1]), (a[2], b[2])
        memory = b[0] if a[0] is ANYTHING else a[0]
        if a[1] is None or b[1] is None or a[1] is not b[1]:
            make = functools.partial(_everything, first, second)
            yield Part(memory, buffers, writes, "everything", make)
        else:
            texts = tuple(
                (id(buffer), frozenset(_texts(side, buffer, is_write)))
                for side, buffer, is_write in ((first, a[1], a[2]), (second, b[1], b[2]))
            )
            make = functools.partial(_same_element, first, second, a[1], writes)
            yield Part(memory, buffers, writes, texts, make)


_Kind = tuple[Memory, "Buffer | None", bool]


def _pairs(first: StatementAccesses, second: StatementAccesses) -> Iterable[tuple[_Kind, _Kind]]:
    for a in first.accesses:
        for b in second.accesses:
            same = a.memory is b.memory or a.memory is ANYTHING or b.memory is ANYTHING
            if same and (a.is_write or b.is_write):
                yield a[:3], b[:3]


def _texts(side: StatementAccesses, buffer: Buffer, is_write: bool) -> Iterable[str]:
    return (a.relation for a in side.accesses if a.buffer is buffer and a.is_write is is_write)


def _everything(first: StatementAccesses, second: StatementAccesses) -> Any:
    return isl().Map.from_domain_and_range(first.domain, second.domain)


def _same_element(
    first: StatementAccesses, second: StatementAccesses, buffer: Buffer, writes: tuple[bool, bool]
) -> Any:
    left = first.relation(buffer, writes[0])
    return left.apply_range(second.relation(buffer, writes[1]).reverse())
