"""Computing what a block stores right where its input is computed."""

from __future__ import annotations

from functools import partial

from tilewright.arith import Analyzer
from tilewright.arith.interval import interval_of
from tilewright.ir.arithmetic import equal
from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.expressions import same_element
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.schedule.edits.bindings import bindings_of, conjunction
from tilewright.tir.schedule.edits.inlining import (
    Instantiation,
    enclosing_users,
    invert,
    require_intermediate,
    single_store,
    users,
    without_buffer,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.primitives.buffers import ALIGNMENTS
from tilewright.tir.schedule.proofs.counterexamples import (
    collision,
    conflict,
    detached_instance,
    disturbance,
    idle_instance,
)
from tilewright.tir.schedule.proofs.coverage import writes_all
from tilewright.tir.schedule.proofs.dataflow import memory_read, require_flow
from tilewright.tir.schedule.proofs.domains import runs_whole_domain
from tilewright.tir.schedule.proofs.regions import is_inside, with_accesses
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, BufferStore
from tilewright.tir.substitute import substitute


def require_each_once(tree: FunctionTree, block: BlockRealize, store: BufferStore) -> None:
    """Refuse unless all instances run and none depends on another one."""
    if not runs_whole_domain(tree, block):
        raise ScheduleError(
            "the loops around {0} may not run all of its instances",
            at=[block],
            counterexample=partial(idle_instance, tree, block),
        )
    if invert(block.block, store.indices) is None or any(
        node.buffer.data is store.buffer.data and not same_element(node, store)
        for node in walk(store)
        if isinstance(node, BufferLoad)
    ):
        raise ScheduleError(
            f"instances of {{0}} depend on each other: several access one element of "
            f"`{store.buffer.name}`",
            at=[block],
            counterexample=partial(conflict, tree, block, block, store.buffer),
        )


def require_all_read(
    tree: FunctionTree, producer: BlockRealize, block: BlockRealize, read: BufferLoad
) -> None:
    """Refuse if an instance would be lost that reads, under a condition, no element at all."""
    scope = tree.scope(block)
    analyzer = tree.analyzer_inside(scope)
    domains = {item.var: item.dom for item in block.block.iter_vars if item.dom is not None}
    box = tuple(interval_of(index, domains, analyzer) for index in read.indices)
    if not is_inside(read.buffer, box, analyzer) or not writes_all(
        tree, producer, read.buffer, scope, [box], analyzer
    ):
        raise ScheduleError(
            f"it is not proved that each instance of {{0}} reads an element of "
            f"`{read.buffer.name}` that {{1}} writes: the others would not run any more",
            at=[block, producer],
            counterexample=partial(detached_instance, tree, block, read.buffer, producer),
        )


def _require_undisturbed(
    tree: FunctionTree, producer: BlockRealize, block: BlockRealize, buffer: Buffer
) -> None:
    """Refuse if the block would have another effect where its producer runs."""
    for other in require_flow(tree, buffer, producer, block).between:
        if other is not block:
            _require_not_touched(tree, producer, block, other, buffer)


def _require_not_touched(
    tree: FunctionTree,
    producer: BlockRealize,
    block: BlockRealize,
    other: BlockRealize,
    buffer: Buffer,
) -> None:
    """Refuse if `other`, which runs in between, changes what the block uses or uses its result."""
    written = {item.data for item in buffers_written(block.block)}
    inputs = {item.data for item in buffers_read(block.block)} - {buffer.data}
    for item in buffers_written(other.block):
        if item.data in written or item.data in inputs:
            raise ScheduleError(
                f"{{2}} writes `{item.name}` and may run between {{0}} and {{1}}, which would come "
                "earlier",
                at=[producer, block, other],
                counterexample=partial(disturbance, tree, producer, other, block, buffer, item),
            )
    for item in memory_read(other):
        if item.data in written:
            raise ScheduleError(
                f"{{2}} reads `{item.name}` and may run between {{0}} and {{1}}, which would come "
                "earlier",
                at=[producer, block, other],
                counterexample=partial(disturbance, tree, producer, other, block, buffer, item),
            )


@primitive
def reverse_compute_inline(tree: FunctionTree, block: BlockRealize) -> Edit:
    """Let the only producer of a block store what the block computes from its value.

    The block and the buffer between the two disappear.

    Before::

        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(128):
            with T.block("C"):
                vi = T.axis.spatial(128, i)
                C[vi] = B[vi] + T.float32(1)

    After ``reverse_compute_inline("C")``::

        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                C[vi] = A[vi] * T.float32(2) + T.float32(1)

    A block that reads only a part of what its producer makes adds a predicate to the producer: of
    128 elements ``B[i // 16, i % 16]``, it may read 100, or every other one.

    Requires: the bodies of the block and of its only producer are one store each, without effects
    and without an initialisation. The buffer in between is not a parameter and has no other reader.
    The block reads it at one place, whose indices tell the iterators of the block, and every
    element that it reads was written before. Nothing that runs between the producer and the block
    accesses what the block writes, or writes what it reads.

    Args:
        block: the block.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(scale_add)
        sch.reverse_compute_inline("C")
    """
    store = single_store(block)
    producer = _only_producer(tree, block)
    stored = single_store(producer)
    buffer = stored.buffer
    require_intermediate(tree, producer, buffer)
    _require_only_reader(tree, producer, block, buffer)
    read = _the_read(block, store, buffer)
    values = _values_at(tree, producer, block, read, stored)
    if tree.checked:
        require_each_once(tree, block, store)
        _require_undisturbed(tree, producer, block, buffer)
        require_all_read(tree, producer, block, read)
    target = producer.block
    analyzer = tree.analyzer(target.body)
    instantiation = _Application(stored, values, analyzer)
    # The buffer that the producer wrote is gone, and with it what was asked of its layout.
    annotations = {k: v for k, v in target.annotations.items() if k != ALIGNMENTS}
    target = target.replace(body=instantiation(store), annotations=annotations)
    predicate = _predicate(tree, producer, block, read, stored, values)
    changed = producer.replace(block=with_accesses(target), predicate=predicate)
    body = tree.edited({block: None, producer: changed})
    body = without_buffer(body, buffer, enclosing_users(tree, buffer))
    return Edit(tree.func.with_body(body))


def _only_producer(tree: FunctionTree, block: BlockRealize) -> BlockRealize:
    producers = scope_of(tree, block).producers(block)
    if len(producers) != 1:
        names = ", ".join(f"`{producer.block.name_hint}`" for producer in producers) or "none"
        raise ScheduleError(
            f"{{0}} must have exactly one producer in its scope, and has {names}", at=[block]
        )
    return producers[0]


def _require_only_reader(
    tree: FunctionTree, producer: BlockRealize, block: BlockRealize, buffer: Buffer
) -> None:
    for user in users(tree, buffer):
        if user is producer:
            if buffer in buffers_read(user.block):
                raise ScheduleError(
                    f"{{0}} reads `{buffer.name}` itself, so it needs the buffer", at=[producer]
                )
        elif user is not block:
            raise ScheduleError(
                f"{{0}} accesses `{buffer.name}` as well, so the buffer must stay",
                at=[user],
                counterexample=partial(conflict, tree, producer, user, buffer, ordered=False),
            )
        elif buffer in buffers_written(user.block):
            raise ScheduleError(
                f"{{0}} writes `{buffer.name}` as well: what it reads is not the value of {{1}} "
                "alone",
                at=[block, producer],
            )


def _the_read(block: BlockRealize, store: BufferStore, buffer: Buffer) -> BufferLoad:
    """The read of `buffer`; refuses several different ones."""
    found = [node for node in walk(block) if isinstance(node, BufferLoad) and node.buffer is buffer]
    inside = [node for node in walk(store) if any(node is load for load in found)]
    if not found or len(inside) < len(found):
        raise ScheduleError(
            f"{{0}} must read `{buffer.name}` in what it stores, and nowhere else", at=[block]
        )
    if any(not structural_equal(load, found[0]) for load in found):
        raise ScheduleError(
            f"{{0}} reads several elements of `{buffer.name}` to make one",
            at=[block],
            hint="compute_inline of the producer computes each of them",
        )
    return found[0]


def _values_at(
    tree: FunctionTree,
    producer: BlockRealize,
    block: BlockRealize,
    read: BufferLoad,
    stored: BufferStore,
) -> dict[Var, Expr]:
    """The instance of the block that reads what an instance of the producer writes."""
    inverse = invert(block.block, read.indices)
    if inverse is None:
        raise ScheduleError(
            f"the indices at which {{0}} reads `{stored.buffer.name}` do not tell its iterators: "
            "several instances read one element",
            at=[block],
            counterexample=partial(collision, block.block.iter_vars, read.indices),
            hint="the read must be at distinct iterators, or at affine functions of them "
            "that can be inverted",
        )
    return inverse.at(stored.indices, tree.analyzer(producer.block.body))


def _predicate(
    tree: FunctionTree,
    producer: BlockRealize,
    block: BlockRealize,
    read: BufferLoad,
    stored: BufferStore,
    values: dict[Var, Expr],
) -> Expr:
    """When the producer writes an element that the block reads."""
    conditions: list[Expr] = []
    for iter_var in block.block.iter_vars:
        value, domain = values[iter_var.var], iter_var.dom
        assert domain is not None
        conditions += [domain.min <= value, value < domain.min + domain.extent]
    for index, position in zip(read.indices, stored.indices, strict=True):
        conditions.append(equal(position, substitute(index, values)))
    inside = tree.analyzer(producer.block.body)
    outside = tree.analyzer(producer)
    bindings = bindings_of(producer)
    result = producer.predicate
    for condition in conditions:
        if inside.can_prove(condition):
            continue
        condition = outside.simplify(substitute(condition, bindings))
        with outside.constraint(result):
            proved = outside.can_prove(condition)
        if not proved:
            result = conjunction(result, condition)
    return result


class _Application(Rewriter):
    """The store of the block at other iterators, with the value of the producer in it."""

    def __init__(self, stored: BufferStore, values: dict[Var, Expr], analyzer: Analyzer) -> None:
        self._stored = stored
        self._instantiation = Instantiation(values, analyzer)
        self._copy = Instantiation({}, analyzer)
        self._simplify = analyzer.simplify

    def BufferStore(self, store: BufferStore) -> BufferStore:
        indices = tuple(self._simplify(self._instantiation(index)) for index in store.indices)
        return store.replace(value=self(self._instantiation(store.value)), indices=indices)

    def BufferLoad(self, load: BufferLoad) -> object:
        if load.buffer is self._stored.buffer:
            return self._copy(self._stored.value)
        return load.map_children(self)
