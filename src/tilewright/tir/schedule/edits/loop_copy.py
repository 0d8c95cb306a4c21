"""Copies between a buffer and a cache as one block per iteration of a loop."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.convert import cast, const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.edits.wrapping import domains_of_loops
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, For
from tilewright.tir.substitute import substitute, variables_of


def loop_copy(
    tree: FunctionTree,
    loop: For,
    source: Buffer,
    target: Buffer,
    name: str,
    region: Sequence[Range],
) -> BlockRealize:
    """A block in the body of `loop` that copies `region` with loops of its own.

    Its iterators ``v0``, ``v1``, ... are the loops around it that the region mentions. The
    annotation ``auto_copy`` tells that the copy may be scheduled as the target wants it.
    """
    mentioned = {var for part in region for end in part.children() for var in variables_of(end)}
    fresh: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    values: list[Expr] = []
    loops_above = [*tree.loops_above(loop), loop]
    for above, domain in domains_of_loops(tree, loops_above, mentioned).items():
        var = Var(f"v{len(iterators)}", above.loop_var.dtype)
        iterators.append(IterVar(domain, var, IterType.DATA_PAR))
        values.append(above.loop_var)
        fresh[above.loop_var] = var
    inside = [substitute(part, fresh) for part in region]
    loops: dict[Var, Expr] = {}
    indices: list[Expr] = []
    for axis, part in enumerate(inside):
        dtype = source.shape[axis].dtype
        loop_var = Var(f"ax{axis}", dtype)
        loops[loop_var] = cast(dtype, part.extent)
        low = cast(dtype, part.min)
        indices.append(loop_var if _is_zero(low) else low + loop_var)
    at = tuple(indices)
    _, body = nest(loops, BufferStore(target, BufferLoad(source, at), at))
    block = Block(
        tuple(iterators),
        (BufferRegion(source, tuple(inside)),),
        (BufferRegion(target, tuple(inside)),),
        name,
        body,
        annotations={"auto_copy": const(1)},
        key=BlockKey(),
    )
    return BlockRealize(tuple(values), TRUE, block)


def _is_zero(expr: Expr) -> bool:
    return getattr(expr, "value", None) == 0
