"""Padding the iteration domain of an einsum."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import Buffer, BufferLoad, Range, decl_buffer
from tilewright.tir.expr import IterType
from tilewright.tir.op import ceildiv, if_then_else
from tilewright.tir.schedule.edits.bindings import conjunction
from tilewright.tir.schedule.edits.einsum import (
    Einsum,
    elements_nest,
    loops_of_einsum,
    match_einsum,
    require_plain_indices,
    require_whole_domain,
    require_zero_in_padding,
)
from tilewright.tir.schedule.edits.stage import require_not_root, with_stage
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.edit_checks import require_fits
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute, variables_of


@primitive
def pad_einsum(tree: FunctionTree, block: BlockRealize, padding: list[Number]) -> Edit:
    """Pad the iteration domain of an einsum, so that its extents become multiples of numbers.

    The operands that grow are copied to larger buffers, with 0 behind their ends; the result is
    computed in a larger buffer and copied back as far as it is needed.

    Before::

        for i, j, k in T.grid(16, 16, 30):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    After ``pad_einsum("C", [16, 16, 16])``::

        A_pad = T.alloc_buffer((16, 32))
        B_pad = T.alloc_buffer((32, 16))
        for i0, i1 in T.grid(16, 32):
            with T.block("A_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                A_pad[v0, v1] = T.if_then_else(v1 < 30, A[v0, v1], T.float32(0))
        for i0, i1 in T.grid(32, 16):
            with T.block("B_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                B_pad[v0, v1] = T.if_then_else(v0 < 30, B[v0, v1], T.float32(0))
        for i, j, k in T.grid(16, 16, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]

    Requires: the block sums products of elements, or stores such a sum; an index that depends on a
    padded iterator is that iterator, over a whole dimension, and the only one; each iterator is
    bound to a loop of its own over its domain, and nothing else is in these loops. Each
    term has an element that is 0 in the padding of the reduction, and none that may be infinite
    there.

    Args:
        block: the block.
        padding: for each iterator of the block, what its extent becomes a multiple of.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul_odd)
        sch.pad_einsum("C", [4, 4, 4])
    """
    require_not_root(tree, block)
    einsum = match_einsum(block)
    chain = loops_of_einsum(tree, block)
    require_whole_domain(einsum, {loop.loop_var: loop.extent for loop in chain})
    analyzer = tree.analyzer(block)
    extents = _padded_extents(block, padding, analyzer)
    if not extents:
        return Edit(tree.func)
    require_zero_in_padding(einsum, _reductions(block.block) & set(extents))
    pads = _padded_buffers(einsum, extents, analyzer)
    target = einsum.target.buffer
    before = [
        _copy_nest(pad.name, buffer, pad, analyzer)
        for buffer, pad in pads.items()
        if buffer is not target
    ]
    after: list[Stmt] = []
    if target in pads:
        after.append(_copy_nest(pads[target].name, pads[target], target, analyzer))
    return with_stage(
        tree,
        tree.scope(block),
        edits={chain[0]: _padded_nest(chain, block, extents, pads)},
        place=chain[0],
        before=before,
        after=after,
        buffers=pads.values(),
        results=None,
    )


def _reductions(block: Block) -> set[Var]:
    kind = IterType.COMM_REDUCE
    return {item.var for item in block.iter_vars if item.iter_type is kind}


def _padded_extents(
    realize: BlockRealize, padding: Sequence[int], analyzer: Analyzer
) -> dict[Var, Expr]:
    """The new extents of the iterators that grow."""
    iterators = realize.block.iter_vars
    if len(padding) != len(iterators):
        raise ScheduleError(
            f"{{0}} has {len(iterators)} iterators, but {len(padding)} paddings are given",
            at=[realize],
        )
    found = {}
    for item, factor in zip(iterators, padding, strict=True):
        if factor <= 0:
            raise ScheduleError(f"paddings are positive, got {factor}", at=[realize])
        assert item.dom is not None
        require_fits(factor, item.dom.extent.dtype, f"the padding of `{item.var.name}`", realize)
        by = const(factor, item.dom.extent.dtype)
        extent = analyzer.simplify(ceildiv(item.dom.extent, by) * by)
        if not analyzer.can_prove_equal(extent, item.dom.extent):
            found[item.var] = extent
    return found


def _padded_buffers(
    einsum: Einsum, extents: dict[Var, Expr], analyzer: Analyzer
) -> dict[Buffer, Buffer]:
    """For each buffer that grows, the larger one."""
    pads: dict[Buffer, Buffer] = {}
    shapes: dict[Buffer, tuple[Expr, ...]] = {}
    for load in einsum.elements():
        buffer = load.buffer
        pairs = zip(load.indices, buffer.shape, strict=True)
        shape = tuple(extents.get(index, extent) for index, extent in pairs)  # type: ignore[arg-type]
        known = shapes.setdefault(buffer, shape)
        if any(not analyzer.can_prove_equal(a, b) for a, b in zip(known, shape, strict=True)):
            raise ScheduleError(
                f"`{buffer.name}` would be padded in two ways for {{0}}", at=[einsum.realize]
            )
        if any(var in extents for index in load.indices for var in variables_of(index)):
            require_plain_indices(einsum, load, extents, analyzer)
            if buffer not in pads:
                name = f"{buffer.name}_pad"
                pads[buffer] = decl_buffer(shape, buffer.dtype, name, scope=buffer.scope())
    return pads


def _padded_nest(
    chain: Sequence[For],
    realize: BlockRealize,
    extents: dict[Var, Expr],
    pads: dict[Buffer, Buffer],
) -> Stmt:
    """The loops and the block over the larger domain."""
    block = realize.block
    iterators = tuple(
        item.replace(dom=Range.from_min_extent(item.dom.min, extents[item.var]))
        if item.dom is not None and item.var in extents
        else item
        for item in block.iter_vars
    )
    pairs = zip(realize.iter_values, block.iter_vars, strict=True)
    of_loop = {value: extents[item.var] for value, item in pairs if item.var in extents}
    padded: Block = substitute(block, {}, pads)
    padded = with_accesses(padded.replace(iter_vars=iterators))
    body: Stmt = realize.replace(block=padded)
    for loop in reversed(chain):
        body = loop.replace(extent=of_loop.get(loop.loop_var, loop.extent), body=body)
    return body


def _copy_nest(name: str, source: Buffer, target: Buffer, analyzer: Analyzer) -> Stmt:
    """Loops over `target` that copy `source` to it; 0 where there is no element."""

    def element(indices: tuple[Var, ...]) -> Expr:
        sizes = zip(indices, target.shape, source.shape, strict=True)
        inside = conjunction(
            *(var < size for var, extent, size in sizes if not analyzer.can_prove(extent <= size))
        )
        return if_then_else(inside, BufferLoad(source, indices), const(0, source.dtype))

    return elements_nest(name, target, element)
