"""Where values flow from a block to another one, and what runs in between."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tilewright.ir.expr import Var
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_hash
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion
from tilewright.tir.schedule.contents import accesses_outside_of_blocks, contents
from tilewright.tir.schedule.edits.bindings import bindings_of, bound_values, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import unwritten_read
from tilewright.tir.schedule.proofs.coverage import writes_all
from tilewright.tir.schedule.proofs.regions import BlockAccess, accesses, relaxed, whole
from tilewright.tir.schedule.proofs.scope import buffers_read, is_intermediate
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import (
    BlockRealize,
    For,
    SeqStmt,
    Stmt,
)
from tilewright.tir.substitute import substitute, variables_of


class Flow(NamedTuple):
    """All that a block reads of a buffer was written by another one in the same iteration.

    Attributes:
        place: the innermost loop or block around both of which this holds for one iteration.
        between: the leaf blocks that may run between a write and the read of what it wrote, both
            blocks included.
    """

    place: For | BlockRealize
    between: list[BlockRealize]


def require_only_blocks(tree: FunctionTree) -> None:
    """Refuse a program that accesses memory outside of blocks, which no region tells."""
    found = tree.facts.get("outside of blocks")
    if found is None:
        found = tree.facts["outside of blocks"] = [
            realize
            for realize in tree.blocks()
            if tree.blocks_below(realize) and accesses_outside_of_blocks(realize.block.body)
        ]
    if found:
        raise ScheduleError(
            "{0} accesses memory outside of the blocks inside of it, so that it is not known how "
            "values flow",
            at=found[:1],
            hint="write what is outside as blocks",
        )


def memory_read(realize: BlockRealize) -> list[Buffer]:
    """The buffers that a block reads, also those that its bindings and its predicate read."""
    bindings = (*realize.iter_values, realize.predicate)
    loads = (n for value in bindings for n in walk(value) if isinstance(n, BufferLoad))
    return list(dict.fromkeys([*buffers_read(realize.block), *(load.buffer for load in loads)]))


def find_flow(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize
) -> Flow | None:
    """How elements of `buffer` get from `producer`, its only writer, to `consumer`.

    Returns:
        None if it is not known that the producer writes all elements that the consumer reads.
    """
    places = list(_places(tree, producer, consumer))
    if runs_part_of_reduction(producer, tree.between(places[0], producer)):
        return None  # the consumer may see sums that are not complete
    for place in places:
        if not _may_flow(tree, buffer, producer, consumer, place):
            return None  # in the first iteration, at the latest, it reads what was there before
        if written_before(tree, buffer, producer, consumer, place):
            return Flow(place, _between(tree, place, producer, consumer))
    return None


def require_flow(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize
) -> Flow:
    """`find_flow`; refuses a consumer that may read what its producer does not write before."""
    answer = partial(unwritten_read, tree, consumer, buffer, [producer])
    order = {item: position for position, item in enumerate(tree.blocks())}
    if order[consumer] < order[producer]:
        raise ScheduleError(
            f"{{1}} reads `{buffer.name}` before {{0}} writes it",
            at=[producer, consumer],
            counterexample=answer,
        )
    flow = find_flow(tree, buffer, producer, consumer)
    if flow is None:
        raise ScheduleError(
            f"{{1}} may read elements of `{buffer.name}` that {{0}} does not write",
            at=[producer, consumer],
            counterexample=answer,
        )
    return flow


def _may_flow(
    tree: FunctionTree,
    buffer: Buffer,
    producer: BlockRealize,
    consumer: BlockRealize,
    place: For | BlockRealize,
) -> bool:
    """Whether the consumer may come after the producer in an iteration of `place`.

    Where both are in one statement, the consumer may read what an earlier iteration wrote; it does,
    if there is nothing else to read.
    """
    first, last = (_position(tree, _statements(place), item) for item in (producer, consumer))
    return first < last or (first == last and is_intermediate(tree, buffer))


def _places(
    tree: FunctionTree, producer: BlockRealize, consumer: BlockRealize
) -> Iterator[For | BlockRealize]:
    """The loops and blocks around two blocks, the innermost first."""
    around = set(tree.ancestors(producer))
    for above in tree.ancestors(consumer):
        if above in around and isinstance(above, (For, BlockRealize)):
            yield above


def written_before(
    tree: FunctionTree,
    buffer: Buffer,
    producer: BlockRealize,
    consumer: BlockRealize,
    place: For | BlockRealize,
) -> bool:
    """Whether one iteration of `place` writes all elements of `buffer` that are read in it."""
    if runs_part_of_reduction(producer, tree.between(place, producer)):
        return False
    analyzer = tree.analyzer_inside(place)
    boxes = [relaxed(tree, read, place, analyzer) for read in reads_of(consumer, buffer)]
    if _is_read_by_binding(consumer, buffer):
        boxes.append(whole(buffer))
    return writes_all(tree, producer, buffer, place, boxes, analyzer)


def runs_part_of_reduction(realize: BlockRealize, inside: list[Stmt]) -> bool:
    """Whether one iteration, of what `inside` is in down to the block, runs a part of a reduction.

    That is where a reduction iterator depends on what is further outside.
    """
    values = bound_values(realize, reduction=True)
    for stmt in reversed(inside):
        if isinstance(stmt, BlockRealize):
            values = [substitute(value, bindings_of(stmt)) for value in values]
    loops = {stmt.loop_var for stmt in inside if isinstance(stmt, For)}
    return not mentioned(values) <= loops


def reads_of(realize: BlockRealize, buffer: Buffer) -> list[BlockAccess]:
    """What a block reads of `buffer`, load by load where no loop of its body is concerned.

    Its own region is the hull of all loads and may contain more. Equal loads are given once.
    """
    inside = contents(realize.block)
    if inside.has_blocks:
        return accesses([realize], buffer, written=False)
    loads: dict[tuple[int, tuple[Var, ...]], BufferLoad] = {}
    for load in inside.loads:
        if load.buffer is not buffer:
            continue
        if any(var in inside.bound for index in load.indices for var in variables_of(index)):
            return accesses([realize], buffer, written=False)
        variables = tuple(node for node in walk(load) if isinstance(node, Var))
        loads.setdefault((structural_hash(load), variables), load)
    found = [
        BlockAccess(realize, BufferRegion.of_element(buffer, load.indices))
        for load in loads.values()
    ]
    return found or accesses([realize], buffer, written=False)


def _is_read_by_binding(realize: BlockRealize, buffer: Buffer) -> bool:
    """Whether a binding or the predicate reads `buffer`, which no region of the block tells."""
    return any(
        isinstance(node, BufferLoad) and node.buffer is buffer
        for value in (*realize.iter_values, realize.predicate)
        for node in walk(value)
    )


def flows_inside(
    tree: FunctionTree,
    buffer: Buffer,
    producer: BlockRealize,
    consumer: BlockRealize,
    place: For | BlockRealize,
) -> bool:
    """Whether all that `consumer` reads in an iteration of `place` is computed before, in the same.

    `place` is around both.
    """
    first, last = (_position(tree, _statements(place), item) for item in (producer, consumer))
    return first < last and written_before(tree, buffer, producer, consumer, place)


def flows_at_once(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize
) -> bool:
    """`flows_inside` the innermost loop or block around both."""
    if producer is consumer:
        return False
    place = next(_places(tree, producer, consumer))
    return flows_inside(tree, buffer, producer, consumer, place)


def _statements(place: Stmt) -> tuple[Stmt, ...]:
    """The statements that a loop or block consists of."""
    body = place.block.body if isinstance(place, BlockRealize) else place.body  # type: ignore[union-attr]
    return body.seq if isinstance(body, SeqStmt) else (body,)


def _between(
    tree: FunctionTree, place: Stmt, producer: BlockRealize, consumer: BlockRealize
) -> list[BlockRealize]:
    """The leaf blocks in the statements of `place` from that of one block to that of the other.

    Where both are in one statement, a read may be of what an earlier run of `place` wrote: then in
    the statements of the root block.
    """
    while True:
        statements = _statements(place)
        first = _position(tree, statements, producer)
        last = _position(tree, statements, consumer)
        if first != last or place is tree.root:
            break
        place = tree.root
    chosen = statements[min(first, last) : max(first, last) + 1]
    return [leaf for stmt in chosen for leaf in tree.leaf_blocks_below(stmt)]


def _position(tree: FunctionTree, statements: tuple[Stmt, ...], block: BlockRealize) -> int:
    line = {block, *tree.ancestors(block)}
    return next(n for n, stmt in enumerate(statements) if stmt in line)
