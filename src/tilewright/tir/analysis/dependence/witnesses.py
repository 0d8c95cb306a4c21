"""Concrete instances for which the flow of values is not what a transformation needs.

A primitive that decides by regions only knows that it has no proof. These questions look for a case
in which the transformed program goes wrong; they are asked when a refusal is shown. The answer None
means that there is no such case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.tir.analysis.dependence.buffer_accesses import (
    BufferAccess,
    conflicts,
    earlier_iterations,
    same_element,
    shared_element,
    statement_of,
)
from tilewright.tir.analysis.dependence.example import (
    fixed,
    sample_pair,
    sample_point,
    shown_sizes,
    with_sizes,
)
from tilewright.tir.analysis.dependence.program import Program
from tilewright.tir.analysis.dependence.relations import footprint, loop_map
from tilewright.tir.analysis.dependence.solver import answers, isl, limited
from tilewright.tir.analysis.dependence.statements import Memory
from tilewright.tir.analysis.dependence.violation import (
    Answer,
    Instance,
    Violation,
    numbers,
    violation,
)
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Block

# --- reads of what is not there -----------------------------------------------------------------


@answers
def find_unwritten_read(
    program: Program, reader: Block, buffer: Buffer, writers: Sequence[Block], same: int = 0
) -> Answer:
    """An element that a block reads, and that some others have not written before.

    Only writes count that are in the same iteration of the `same` outermost loops.
    """
    with limited():
        read = BufferAccess(statement_of(program, reader), buffer, False)
        if not read.accesses:
            return None
        sources = [BufferAccess(statement_of(program, block), buffer, True) for block in writers]
        sources = [source for source in sources if source.accesses]
        missing = _without_writes(read, sources, same)
        is_certain = not missing.is_empty()
        if not is_certain:
            sure = [source for source in sources if source.is_certain]
            missing = _without_writes(read, sure, same)
        if missing.is_empty():
            return None
        found = sample_pair(missing.unwrap())
        instance, element = read.instance(found.first, found.sizes), read.element(found.second)
        text = read.told(instance, element)
        later = _writer(sources, found.second, found.sizes)
        names = " or ".join(dict.fromkeys(block.name_hint for block in writers))
        if not is_certain:
            text += f", which {names} may not write before"
        elif same:
            loops = dict(list(instance.loops.items())[:same])
            text += f", which {names} does not write before in iteration {numbers(loops)}"
        elif later is not None:
            text += f" before {later} writes it"
        else:
            text += f", which {names or 'nothing'} never writes"
        return violation("unwritten", text, shown_sizes(found.sizes), [instance], element)


def _without_writes(read: BufferAccess, sources: Sequence[BufferAccess], same: int) -> Any:
    """The iterations and elements read in them that no source writes before."""
    missing = read.map.wrap()
    for source in sources:
        when = earlier_iterations(source.statement, read.statement, same).reverse()
        written = read.map.range_map().apply_range(source.map.reverse())
        written = read.map.domain_map().apply_range(when).intersect(written)
        missing = missing.subtract(written.domain())
        if source.statement is read.statement:
            missing = missing.subtract(_written_by_itself(read, source))
    return missing


def _written_by_itself(read: BufferAccess, written: BufferAccess) -> Any:
    """The iterations and elements read in them that the same instance may write before."""
    found = footprint(read.statement)
    iterations = loop_map(read.statement).map
    block = read.statement.block
    if block is not None and found.reduction is not None:
        # It reads what its init writes, if it has one.
        if block.init is None:
            return isl().Set.empty(read.map.wrap().get_space())
        iterations = iterations.intersect_range(found.first)
    return read.map.intersect(written.map).intersect_domain(iterations.domain()).wrap()


def _writer(
    sources: Sequence[BufferAccess], place: Sequence[int], sizes: dict[str, int]
) -> Instance | None:
    """An instance that writes an element; None if there is none."""
    for source in sources:
        where = isl().dim_type.out
        iterations = fixed(with_sizes(source.map, sizes), where, place).domain()
        if not iterations.is_empty():
            return source.instance(sample_point(iterations).first, sizes)
    return None


# --- accesses in an order -----------------------------------------------------------------------


@answers
def find_conflict(
    program: Program, first: Block, second: Block, memory: Memory, *, ordered: bool = False
) -> Answer:
    """An element of some memory that two blocks access, at least one of them writing it.

    `ordered` tells whether the first one has to access it first.
    """
    with limited():
        one, other = statement_of(program, first), statement_of(program, second)
        for access, its in conflicts(one, other, memory):
            pairs = same_element(access, its)
            if ordered:
                pairs = pairs.intersect(earlier_iterations(one, other))
            if not pairs.is_empty():
                found = sample_pair(pairs)
                ends = found.first, found.second
                element = shared_element(access, its, ends, found.sizes)
                instances = (
                    access.instance(ends[0], found.sizes),
                    its.instance(ends[1], found.sizes),
                )
                join = "; then " if ordered else ", and "
                text = access.told(instances[0], element) + join + its.told(instances[1], element)
                return violation("conflict", text, shown_sizes(found.sizes), instances, element)
    return None


@answers
def find_late_init(program: Program, block: Block) -> Answer:
    """An element that a reduction updates before an instance of it initialises the element."""
    with limited():
        statement = statement_of(program, block)
        if block.init is None:
            return None
        starts = loop_map(statement).map.intersect_range(footprint(statement).first).domain()
        for buffer in dict.fromkeys(region.buffer for region in block.writes):
            write = BufferAccess(statement, buffer, True)
            pairs = same_element(write, write).intersect_range(starts)
            pairs = pairs.intersect(earlier_iterations(statement, statement))
            if not pairs.is_empty():
                found = sample_pair(pairs)
                ends = found.first, found.second
                element = shared_element(write, write, ends, found.sizes)
                instances = [write.instance(end, found.sizes) for end in ends]
                where = [f"{i} in iteration {numbers(i.loops)}" for i in instances]
                text = f"{where[0]} updates {element}; then {where[1]} initialises it"
                return violation("order", text, shown_sizes(found.sizes), instances, element)
    return None


@answers
def find_foreign_read(program: Program, block: Block, buffer: Buffer) -> Answer:
    """An element that an instance of a block reads and another one of its instances writes."""
    with limited():
        statement = statement_of(program, block)
        read, write = BufferAccess(statement, buffer, False), BufferAccess(statement, buffer, True)
        foreign = read.map.subtract(write.map).intersect_range(write.map.range())
        if not read.accesses or foreign.is_empty():
            return None
        found = sample_pair(foreign)
        instance, element = read.instance(found.first, found.sizes), read.element(found.second)
        writer = _writer([write], found.second, found.sizes)
        text = f"{read.told(instance, element)}, which {writer} writes"
        return violation("conflict", text, shown_sizes(found.sizes), [instance], element)


@answers
def find_overwritten_input(
    program: Program, blocks: tuple[Block, Block, Block], buffer: Buffer, memory: Memory
) -> Answer:
    """An element that is overwritten after a block used it, and before its result is read.

    Args:
        program: the program.
        blocks: the block that computes, the one that overwrites, and the one that reads; or the
            first one again, if it computes the same elements several times.
        buffer: what the first one computes.
        memory: the pointer of what the second one overwrites.
    """
    with limited():
        first, middle, last = (statement_of(program, block) for block in blocks)
        flow = BufferAccess(first, buffer, True), BufferAccess(last, buffer, last is first)
        for used, changed in conflicts(first, middle, memory):
            early = same_element(used, changed).intersect(earlier_iterations(first, middle))
            found = _three(flow, early, earlier_iterations(middle, last))
            if found is not None:
                sizes, (start, between, end) = found
                element = shared_element(used, changed, (start, between), sizes)
                result = shared_element(*flow, (start, end), sizes)
                told = (used, start, element), (changed, between, element), (flow[1], end, result)
                return _sequence(told, element, sizes)
    return None


@answers
def find_disturbance(
    program: Program, blocks: tuple[Block, Block, Block], buffer: Buffer, memory: Memory
) -> Answer:
    """An element that is accessed after an operand is computed and before its reader accesses it.

    Args:
        program: the program.
        blocks: the block that computes, the one in between, and the one that reads.
        buffer: what the first one computes.
        memory: the pointer of what the second and the third one access.
    """
    with limited():
        first, middle, last = (statement_of(program, block) for block in blocks)
        flow = BufferAccess(first, buffer, True), BufferAccess(last, buffer, False)
        for accessed, own in conflicts(middle, last, memory):
            late = same_element(accessed, own).intersect(earlier_iterations(middle, last))
            found = _three(flow, earlier_iterations(first, middle), late)
            if found is not None:
                sizes, (start, between, end) = found
                element = shared_element(accessed, own, (between, end), sizes)
                result = shared_element(*flow, (start, end), sizes)
                told = (flow[0], start, result), (accessed, between, element), (own, end, element)
                return _sequence(told, element, sizes)
    return None


def _three(
    flow: tuple[BufferAccess, BufferAccess], early: Any, late: Any
) -> tuple[dict[str, int], tuple[list[int], list[int], list[int]]] | None:
    """Three iterations of which the last one reads what the first one writes; None if there are
    none.

    Args:
        flow: the write and the read.
        early: the pairs of the first and the second iteration.
        late: the pairs of the second and the third one.
    """
    pairs = same_element(*flow)
    pairs = pairs.intersect(earlier_iterations(flow[0].statement, flow[1].statement))
    triples = early.range_product(pairs).intersect_range(late.wrap())
    if triples.is_empty():
        return None
    found = sample_pair(triples.flatten_range())
    count = early.dim(isl().dim_type.out)
    return found.sizes, (found.first, found.second[:count], found.second[count:])


def _sequence(
    told: Sequence[tuple[BufferAccess, list[int], str]], element: str, sizes: dict[str, int]
) -> Violation:
    instances = [access.instance(iteration, sizes) for access, iteration, _ in told]
    steps = (
        access.told(instance, place)
        for (access, _, place), instance in zip(told, instances, strict=True)
    )
    return violation("order", "; then ".join(steps), shown_sizes(sizes), instances, element)
