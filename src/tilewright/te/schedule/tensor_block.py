"""The block of an intrinsic: its statements on views of the boxes that it computes."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import floormod
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.te.schedule.stage import Stage
from tilewright.te.schedule.tensorize import Tile
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.stmt import Block, BufferStore, Stmt
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.building.allocations import compact_strides


def tensor_block(
    stage: Stage,
    tile: Tile,
    body: Stmt,
    buffers: Mapping[Tensor, Buffer],
    name: str,
    reads: tuple[bool, bool],
) -> Block:
    """A block without iterators around one of the statements of an intrinsic.

    It mentions the loop variables around it. `reads` says whether the statement reads the inputs,
    and whether it reads the outputs.

    Raises:
        TEScheduleError: if a buffer of the intrinsic demands a layout that the box does not have.
    """
    variables: dict[Var, Expr] = {}
    views: dict[Buffer, Buffer] = {}
    matches: list[MatchBufferRegion] = []
    inputs, outputs, updated = [], [], []
    pointers = {node for node in walk(body) if isinstance(node, Var) and node.dtype.is_handle}
    loaded = {node.buffer for node in walk(body) if isinstance(node, BufferLoad)}
    used = loaded | {node.buffer for node in walk(body) if isinstance(node, BufferStore)}
    count = len(tile.intrin.inputs)
    for position, (view, (tensor, box)) in enumerate(
        zip(tile.intrin.buffers, tile.regions, strict=True)
    ):
        region = BufferRegion(buffers[tensor], box)
        (inputs if position < count else outputs).append(region)
        if position >= count and (reads[1] or view in loaded):
            updated.append(region)
        if view not in used and view.data not in pointers:
            continue
        _check_layout(stage, tile, view, region)
        views[view] = _copy(view, variables)
        matches.append(MatchBufferRegion(views[view], region))
    body = substitute(body, variables, views)
    read = (*inputs, *updated) if reads[0] else tuple(updated)
    return Block((), read, tuple(outputs), name, body, None, (), tuple(matches))


def _copy(view: Buffer, variables: dict[Var, Expr]) -> Buffer:
    """A buffer like `view` with variables of its own, so that blocks share none."""
    symbols = [view.data, *view.strides, view.elem_offset]
    for symbol in symbols:
        if isinstance(symbol, Var):
            variables[symbol] = Var(symbol.name, symbol.dtype, symbol.type_annotation)
    copy = substitute(view, variables)
    return copy.replace(data=variables[view.data])


def _check_layout(stage: Stage, tile: Tile, view: Buffer, region: BufferRegion) -> None:
    """Require that the box has the layout that the intrinsic relies on."""
    source = region.buffer
    strides = source.strides or compact_strides(source.shape)
    analyzer = Analyzer()
    if not view.strides and not _is_compact(region.region, source.shape, bool(source.strides)):
        raise stage.error(
            "tensorize",
            f"{tile.intrin.name} wants {view.name} in compact memory, but the box of "
            f"{source.name} is not; bind a buffer with symbolic strides to it",
        )
    start: Expr = source.elem_offset
    for dom, stride in zip(region.region, strides, strict=True):
        start = as_expr(start + dom.min * stride)
    fixed = not isinstance(view.elem_offset, Var)
    if fixed and not analyzer.can_prove_equal(start, view.elem_offset):
        raise stage.error(
            "tensorize",
            f"{tile.intrin.name} wants {view.name} to start at {view.elem_offset!r}, but the box "
            f"of {source.name} starts elsewhere; declare its buffer with offset_factor=1",
        )
    if view.offset_factor > 1 and not analyzer.can_prove_equal(
        floormod(start, view.offset_factor), 0
    ):
        raise stage.error(
            "tensorize",
            f"the box of {source.name} does not start at a multiple of {view.offset_factor} "
            f"elements, as {tile.intrin.name} demands",
        )


def _is_compact(region: tuple[Range, ...], shape: tuple[Expr, ...], has_strides: bool) -> bool:
    """Whether the elements of a box are next to each other, as those of an array of its shape."""
    extents = [dom.extent for dom in region]
    while extents and is_const_int(extents[0], 1):
        extents = extents[1:]
    if not extents:
        return True
    inner = len(extents) - 1
    whole = all(map(structural_equal, extents[1:], shape[len(shape) - inner :]))
    return whole and not has_strides
