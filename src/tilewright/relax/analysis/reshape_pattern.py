"""Recognising tensor programs that copy an array to another shape."""

from __future__ import annotations

from functools import reduce

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, is_const_int
from tilewright.ir.range import Range
from tilewright.ir.rewrite import walk
from tilewright.relax.sizes import assume_sizes, symbolic_vars_of
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind


def has_reshape_pattern(func: PrimFunc) -> bool:
    """Whether a tensor program only copies one array to another, element by element in order.

    It has one block, which stores a loaded element in each place of the output, at the same
    position of both arrays, if the positions are counted in the order of memory.
    """
    buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    if len(buffers) != 2 or buffers[0].dtype is not buffers[1].dtype:
        return False
    realizes = [node for node in walk(func.body) if isinstance(node, BlockRealize)]
    if len(realizes) not in (1, 2):  # with or without the root
        return False
    realize, block = realizes[-1], realizes[-1].block
    store = block.body
    if any(r.block.alloc_buffers for r in realizes) or block.init is not None:
        return False
    if any(item.dom is None for item in block.iter_vars):
        return False
    if not is_const_int(realize.predicate, 1) or not isinstance(store, BufferStore):
        return False
    load = store.value
    if not isinstance(load, BufferLoad) or load.buffer is not buffers[0]:
        return False
    if store.buffer is not buffers[1] or not all(buffer.is_compact() for buffer in buffers):
        return False
    if not _runs_over_all(func, realize) or not _writes_every_element(block, store):
        return False
    return _same_positions(block, store, load)


def _runs_over_all(func: PrimFunc, realize: BlockRealize) -> bool:
    """Whether each block iterator is a loop of its own, over its whole domain."""
    analyzer = Analyzer()
    loops = {node.loop_var: node for node in walk(func.body) if isinstance(node, For)}
    if any(loop.kind is ForKind.THREAD_BINDING for loop in loops.values()):
        return False
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if is_const_int(value, 0) and is_const_int(_domain(item).extent, 1):
            continue
        loop = loops.pop(value, None)  # type: ignore[call-overload]
        if loop is None or not is_const_int(loop.min, 0):
            return False
        if not analyzer.can_prove_equal(loop.extent, _domain(item).extent):
            return False
    return True


def _writes_every_element(block: Block, store: BufferStore) -> bool:
    """Whether the block iterators are the indices of the output, and run over all of it."""
    analyzer = Analyzer()
    iterators = {item.var: item for item in block.iter_vars}
    if any(item.iter_type is not IterType.DATA_PAR for item in block.iter_vars):
        return False
    seen = set()
    for index, extent in zip(store.indices, store.buffer.shape, strict=True):
        if is_const_int(index, 0) and is_const_int(extent, 1):
            continue
        item = iterators.get(index)  # type: ignore[call-overload]
        if item is None or index in seen:
            return False
        covers = is_const_int(_domain(item).min, 0) and analyzer.can_prove_equal(
            _domain(item).extent, extent
        )
        if not covers:
            return False
        seen.add(index)
    return True


def _same_positions(block: Block, store: BufferStore, load: BufferLoad) -> bool:
    analyzer = Analyzer()
    for extent in (*store.buffer.shape, *load.buffer.shape):
        assume_sizes(analyzer, symbolic_vars_of(extent))
    for item in block.iter_vars:
        analyzer.bind_range(item.var, _domain(item).min, _domain(item).extent)
    if not analyzer.can_prove_equal(_elements(store.buffer), _elements(load.buffer)):
        return False
    written = _position(store.indices, store.buffer)
    return analyzer.can_prove_equal(written, _position(load.indices, load.buffer))


def _domain(item: IterVar) -> Range:
    assert item.dom is not None
    return item.dom


def _elements(buffer: Buffer) -> Expr:
    return reduce(lambda product, extent: product * extent, buffer.shape, const(1, INT64))


def _position(indices: tuple[Expr, ...], buffer: Buffer) -> Expr:
    """Where an element is, counted in the order of memory."""
    position: Expr = const(0, INT64)
    for index, extent in zip(indices, buffer.shape, strict=True):
        position = position * extent + index
    return position
