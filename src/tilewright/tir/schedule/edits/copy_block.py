"""Blocks that copy a part of one buffer to another."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.convert import cast, const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, Stmt


def cache_of(buffer: Buffer, storage_scope: str) -> Buffer:
    """A new compact buffer of the same shape, named after `buffer` and the scope."""
    name = f"{buffer.name}_{storage_scope}"
    return decl_buffer(buffer.shape, buffer.dtype, name, scope=storage_scope)


def copy_nest(
    name: str, source: Buffer, target: Buffer, region: Sequence[Range]
) -> tuple[Stmt, BlockRealize]:
    """Loops over `region` around a block that copies one element from `source` to `target`.

    Both buffers have the same shape. The loops are called ``ax0``, ``ax1``, ..., the iterators of
    the block ``v0``, ``v1``, ...

    Returns:
        The outermost loop and the realisation of the block.
    """
    loops: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    values: list[Expr] = []
    for axis, (part, extent) in enumerate(zip(region, source.shape, strict=True)):
        dtype = extent.dtype
        loop_var = Var(f"ax{axis}", dtype)
        loops[loop_var] = cast(dtype, part.extent)
        domain = Range.from_min_extent(const(0, dtype), extent)
        iterators.append(IterVar(domain, Var(f"v{axis}", dtype), IterType.DATA_PAR))
        low = cast(dtype, part.min)
        values.append(loop_var + low if isinstance(low, IntImm) else low + loop_var)
    indices = tuple(iterator.var for iterator in iterators)
    block = Block(
        tuple(iterators),
        (BufferRegion.of_element(source, indices),),
        (BufferRegion.of_element(target, indices),),
        name,
        BufferStore(target, BufferLoad(source, indices), indices),
        key=BlockKey(),
    )
    realize = BlockRealize(tuple(values), TRUE, block)
    return nest(loops, realize)[1], realize
