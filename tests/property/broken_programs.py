"""Programs with one thing broken on purpose: their schedules are refused, or keep what they do.

A broken program still has a meaning, that of its loops one iteration after the other, though often
not the one that its blocks declare: a spatial iterator whose instances depend on each other, a
reduction by something that is not a reducer, an element that is initialised too late.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.property.harness import assert_same
from tests.property.random_schedules import Steps
from tests.property.schedule_fuzz import (
    LARGEST,
    Case,
    arguments_of,
    check_result,
    random_case,
    shrunk,
)
from tests.time_limit import LAST_WORDS, TakesTooLongError, time_limit

from tilewright import tir
from tilewright.error import InterpreterError, TVMError
from tilewright.ir import IRModule, walk
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Add, CompareExpr, Expr, IntImm, Max, Min, Select, Sub, Var
from tilewright.ir.node import Node
from tilewright.tir import PrimFunc, Schedule
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.buffer import Buffer, BufferLoad, Range
from tilewright.tir.expr import IterType
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    SeqStmt,
)
from tilewright.tir.substitute import substitute, symbolic_sizes

EXACT = 2**22
"""Larger numbers are not compared: float32 would round them, in each order in another way."""


class NothingToBreakError(Exception):
    """The program has no place for some way to break it."""


def check_broken_pair(seed: int, *, compiled: bool) -> bool:
    """Break a random program, and schedule it at random.

    Args:
        seed: chooses all of it.
        compiled: whether to check the native code of the result, too.

    Returns:
        Whether there was something to check: the program has a meaning, and a step was accepted.

    Raises:
        AssertionError: if an accepted schedule computes something else than the broken program.
    """
    rng = random.Random(seed)
    case, _ = random_case(rng)
    name = rng.choice([*BREAKAGES])
    try:
        func = _with_regions(BREAKAGES[name](rng, case.mod["main"]))
    except NothingToBreakError:
        return False
    broken = case._replace(mod=IRModule({"main": func}), source=f"{name}\n{func.script()}")
    if not _has_one_meaning(broken, seed):
        return False
    LAST_WORDS.begin(f"seed {seed}\n{broken.source}")
    try:
        sch = Schedule(broken.mod, seed=seed + 1, debug_mask="all")
    except TVMError:
        return False
    sch.work_on("main")
    steps = Steps(rng, sch)
    try:
        with time_limit():
            for _ in range(rng.randint(1, LARGEST)):
                steps.step()
    except (Exception, TakesTooLongError) as error:
        broken = broken._replace(trace=sch.trace)
        message = f"seed {seed}: {type(error).__name__}: {error}\nin {steps.last}\n{broken}"
        raise AssertionError(message) from error
    _check(broken._replace(trace=sch.trace), sch.mod, seed, compiled=compiled)
    return bool(steps.applied)


def _check(case: Case, mod: IRModule, seed: int, *, compiled: bool) -> None:
    try:
        with time_limit():
            check_result(case, mod, seed, compiled=compiled)
    except (Exception, TakesTooLongError) as error:
        smallest = shrunk(case, seed, compiled=compiled)
        raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}\n{smallest}") from error


def _has_one_meaning(case: Case, seed: int) -> bool:
    """Whether the program runs, reads nothing unwritten, and races with nothing of its own."""
    func = case.mod["main"]
    values = dict.fromkeys(symbolic_sizes(func), case.size)
    func = func.specialize(values) if values else func
    try:
        verify_well_formed(func)
    except TVMError:
        return False
    results = []
    for reverse in (False, True):
        arguments = arguments_of(func, seed)
        try:
            with time_limit():
                interpret(func, *arguments, check_reads=True, reverse_parallel=reverse)
        except (InterpreterError, TakesTooLongError):
            return False
        results.append(arguments)
    if any(np.abs(array.astype("float64")).max(initial=0) > EXACT for array in results[0]):
        return False
    try:
        for one, other in zip(*results, strict=True):
            assert_same(one, other)
    except AssertionError:
        return False
    return True


def _with_regions(func: PrimFunc) -> PrimFunc:
    """`func` with the regions that the changed blocks access."""

    def visit(node: Any) -> Any:
        node = node.map_children(visit) if isinstance(node, Node) else node
        if isinstance(node, Block) and not any(isinstance(n, BlockRealize) for n in walk(node)):
            reads, writes = infer_block_regions(node)
            return node.replace(reads=reads, writes=writes)
        return node

    return func.with_body(visit(func.body))


# --- ways to break a program ------------------------------------------------------------------


def _chosen(rng: random.Random, found: Iterator[Any]) -> Any:
    items = list(found)
    if not items:
        raise NothingToBreakError
    return rng.choice(items)


def _realizes(func: PrimFunc) -> Iterator[BlockRealize]:
    """The blocks without blocks inside."""
    for node in walk(func.body):
        if isinstance(node, BlockRealize) and not any(
            isinstance(inner, BlockRealize) for inner in walk(node.block)
        ):
            yield node


def _with(func: PrimFunc, old: Node, new: Node) -> PrimFunc:
    """`func` with one node replaced."""

    def visit(node: Any) -> Any:
        if node is old:
            return new
        return node.map_children(visit) if isinstance(node, Node) else node

    return func.with_body(visit(func.body))


def _with_block(func: PrimFunc, old: BlockRealize, **changes: Any) -> PrimFunc:
    return _with(func, old, old.replace(block=old.block.replace(**changes)))


def _elsewhere(rng: random.Random, block: Block, index: Expr, extent: Expr) -> Expr:
    """Another index of the same dimension."""
    variables = [item.var for item in block.iter_vars]
    shifted = tir.floormod(index + rng.choice((-1, 1, 2)), extent)
    other = tir.floormod(rng.choice(variables), extent) if variables else shifted
    return rng.choice((shifted, shifted, other, extent - 1 - index, tir.const(0, index.dtype)))


def _moved_access(
    rng: random.Random, block: Block, access: BufferLoad | BufferStore
) -> BufferLoad | BufferStore:
    place = rng.randrange(len(access.indices))
    index = access.indices[place]
    indices = list(access.indices)
    moved = _elsewhere(rng, block, index, access.buffer.shape[place])
    indices[place] = as_expr(moved, index.dtype)
    return access.replace(indices=tuple(indices))


def dependence(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Shift the index of a load or a store."""
    realize = _chosen(rng, _realizes(func))
    accesses = (n for n in walk(realize.block.body) if isinstance(n, (BufferLoad, BufferStore)))
    old = _chosen(rng, (access for access in accesses if access.indices))
    return _with(func, old, _moved_access(rng, realize.block, old))


def own_result(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Add an element of the result, which another instance writes, to what a block stores."""
    realize = _chosen(rng, _realizes(func))
    stores = (node for node in walk(realize.block.body) if isinstance(node, BufferStore))
    store = _chosen(rng, (s for s in stores if s.indices))
    load = _moved_access(rng, realize.block, BufferLoad(store.buffer, store.indices))
    value = rng.choice((Add, Max, Min))(store.value, load)
    return _with(func, store, store.replace(value=value))


def later_result(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Load from a buffer that another block writes, before or after."""
    written = [s.buffer for s in walk(func.body) if isinstance(s, BufferStore)]
    realize = _chosen(rng, _realizes(func))
    old = _chosen(rng, (n for n in walk(realize.block.body) if isinstance(n, BufferLoad)))
    fitting = (b for b in written if b is not old.buffer and b.dtype is old.buffer.dtype)
    buffer = _chosen(rng, fitting)
    variables = [item.var for item in realize.block.iter_vars]
    if not variables:
        raise NothingToBreakError
    indices = tuple(as_expr(tir.floormod(rng.choice(variables), extent)) for extent in buffer.shape)
    return _with(func, old, BufferLoad(buffer, indices))


def order(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Swap two statements."""
    old = _chosen(rng, (n for n in walk(func.body) if isinstance(n, SeqStmt) and len(n.seq) > 1))
    items = list(old.seq)
    first, second = rng.sample(range(len(items)), 2)
    items[first], items[second] = items[second], items[first]
    return _with(func, old, SeqStmt(tuple(items)))


def guard(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Drop, change or add the predicate of a block, or a condition in it."""
    realize = _chosen(rng, _realizes(func))
    where = rng.choice(("predicate", "loop", "body"))
    if where == "predicate":
        if isinstance(realize.predicate, IntImm):
            raise NothingToBreakError
        return _with(func, realize, realize.replace(predicate=const(True, "bool")))
    if where == "loop":
        nodes = (node for value in realize.iter_values for node in walk(value))
        var = _chosen(rng, (node for node in nodes if isinstance(node, Var)))
    else:
        var = _chosen(rng, (item.var for item in realize.block.iter_vars))
    condition = rng.choice(
        (var < rng.randint(1, 4), var >= rng.randint(0, 2), tir.floormod(var, 2) < 1)
    )
    if where == "loop":
        joined = tir.And(realize.predicate, condition)
        return _with(func, realize, realize.replace(predicate=joined))
    body = tir.IfThenElse(condition, realize.block.body)
    return _with_block(func, realize, body=body)


def reducer(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Combine the old value by something that is not a reducer, or by another comparison."""
    realize = _chosen(rng, (r for r in _realizes(func) if r.block.init is not None))
    compared = [n for n in walk(realize.block.body) if isinstance(n, CompareExpr)]
    if compared and rng.random() < 0.6:
        old = rng.choice(compared)
        kind = rng.choice((tir.GE, tir.GT, tir.LT, tir.LE, tir.NE))
        return _with(func, old, kind(old.a, old.b))
    store = _chosen(rng, (s for s in walk(realize.block.body) if isinstance(s, BufferStore)))
    value, target = store.value, BufferLoad(store.buffer, store.indices)
    one = const(1, value.dtype)
    changed = rng.choice(
        (
            Add(value, one), Sub(value, target), Max(value, one), Sub(one, value),
            Add(value, target), Select(target > one, target, value),
            Select(value > target, target, value), Select(target < one, value, target),
        )
    )  # fmt: skip
    return _with(func, store, store.replace(value=changed))


def extent(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Change the extent of a loop, or of the domain of an iterator."""
    if rng.random() < 0.5:
        loop = _chosen(rng, (n for n in walk(func.body) if isinstance(n, For)))
        changed = rng.choice((loop.extent - 1, loop.extent + 1, loop.extent * 2))
        return _with(func, loop, loop.replace(extent=as_expr(changed, loop.extent.dtype)))
    realize = _chosen(rng, _realizes(func))
    item = _chosen(rng, iter(realize.block.iter_vars))
    low, size = item.dom.min, item.dom.extent
    begin, more = rng.choice(((low, size + 2), (low - 1, size + 1), (low, size * 2)))
    domain = Range.from_min_extent(as_expr(begin, low.dtype), as_expr(more, low.dtype))
    iterators = tuple(
        other.replace(dom=domain) if other is item else other for other in realize.block.iter_vars
    )
    return _with_block(func, realize, iter_vars=iterators)


def kind(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Declare a reduction iterator as spatial, or the other way round."""
    realize = _chosen(rng, _realizes(func))
    item = _chosen(rng, iter(realize.block.iter_vars))
    is_spatial = item.iter_type is IterType.DATA_PAR
    changed = item.replace(iter_type=IterType.COMM_REDUCE if is_spatial else IterType.DATA_PAR)
    iterators = tuple(changed if other is item else other for other in realize.block.iter_vars)
    return _with_block(func, realize, iter_vars=iterators)


def init(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Drop the initialisation of a reduction, change it, or give a block one."""
    realize = _chosen(rng, _realizes(func))
    block = realize.block
    if block.init is None:
        if any(isinstance(node, For) for node in walk(block.body)):
            raise NothingToBreakError  # an index may mention the loop
        store = _chosen(rng, (s for s in walk(block.body) if isinstance(s, BufferStore)))
        start = store.replace(value=const(1, store.value.dtype))
        return _with_block(func, realize, init=start)
    if rng.random() < 0.4:
        return _with_block(func, realize, init=None)
    store = _chosen(rng, (s for s in walk(block.init) if isinstance(s, BufferStore)))
    spatial = [v.var for v in block.iter_vars if v.iter_type is IterType.DATA_PAR]
    value: Any = rng.choice((1, -2, 7))
    moved = store.replace(value=const(value, store.value.dtype))
    if rng.random() < 0.5 and spatial and store.indices:
        moved = _moved_access(rng, block.replace(iter_vars=()), store)
    return _with(func, store, moved)


def binding(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Bind an iterator to another value."""
    realize = _chosen(rng, _realizes(func))
    place = _chosen(rng, iter(range(len(realize.iter_values))))
    value, size = realize.iter_values[place], realize.block.iter_vars[place].dom.extent
    changed = rng.choice(
        (
            size - 1 - value, size - 1 - value, tir.floordiv(value, 2),
            tir.floormod(value + 1, size), tir.floormod(rng.choice(realize.iter_values), size),
            const(0, value.dtype),
        )
    )  # fmt: skip
    values = list(realize.iter_values)
    values[place] = as_expr(changed, value.dtype)
    return _with(func, realize, realize.replace(iter_values=tuple(values)))


def twice(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Repeat a nest in a loop, so that its instances run several times."""
    loop = _chosen(rng, (node for node in walk(func.body) if isinstance(node, For)))
    again = For(Var("again", "int32"), const(0), const(2), ForKind.SERIAL, loop)
    return _with(func, loop, again)


def memory(rng: random.Random, func: PrimFunc) -> PrimFunc:
    """Let a block write to a buffer that another one uses."""
    realize = _chosen(rng, _realizes(func))
    stores = (node for node in walk(realize.block) if isinstance(node, BufferStore))
    old = _chosen(rng, stores).buffer
    accesses = (node for node in walk(func.body) if isinstance(node, (BufferLoad, BufferStore)))
    others = dict.fromkeys(access.buffer for access in accesses)
    new = _chosen(rng, (other for other in others if other is not old and _fits(other, old)))
    return _with(func, realize, realize.replace(block=substitute(realize.block, {}, {old: new})))


def _fits(other: Buffer, buffer: Buffer) -> bool:
    """Whether all indices of `buffer` are some of `other`."""
    return other.dtype is buffer.dtype and all(
        isinstance(x, IntImm) and isinstance(y, IntImm) and x.value >= y.value
        for x, y in itertools.zip_longest(other.shape, buffer.shape)
    )


BREAKAGES: dict[str, Callable[[random.Random, PrimFunc], PrimFunc]] = {
    way.__name__: way
    for way in (
        dependence, own_result, later_result, order, guard, reducer, extent, kind, init, binding,
        twice, memory,
    )
}  # fmt: skip
