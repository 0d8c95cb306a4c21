"""Replacing a computation by a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.expr import IterVar
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.schedule.edits.intrinsic_match import (
    IntrinsicMatch,
    MatchedBuffer,
    MismatchError,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.primitives.blockize import tile_block
from tilewright.tir.schedule.proofs.counterexamples import outside
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockRealize, DeclBuffer, For
from tilewright.tir.tensor_intrin import TensorIntrin, intrinsic_block, intrinsic_buffers


class View(NamedTuple):
    """A view with what it stands for.

    Attributes:
        match: the view and its region.
        variables: what stands for the variables of the implementation's buffer.
    """

    match: MatchBufferRegion
    variables: dict[Var, Expr]


def view_of(
    buffer: Buffer,
    place: MatchedBuffer,
    impl: Block,
    iterators: Sequence[IterVar],
    analyzer: Analyzer | None,
) -> View:
    """A view for a buffer of an implementation.

    Args:
        place: where it lies in the program.
        impl: the block of the implementation.
        iterators: those of the block in the program.
        analyzer: what is known in the program; None to trust that the view fits.
    """
    source, ahead = place.buffer, len(place.base) - buffer.ndim
    region = tuple(
        Range.from_min_extent(low, IntImm(low.dtype, 1) if n < 0 else _extent(buffer.shape[n], low))
        for n, low in enumerate(place.base, start=-ahead)
    )
    if analyzer is not None:
        _require_inside(source, region, iterators, analyzer)
    variables: dict[Var, Expr] = {buffer.data: buffer.data.replace()}
    for expr in (*buffer.strides, buffer.elem_offset):
        if isinstance(expr, Var):
            variables[expr] = expr.replace()
    strides = _strides(source)
    layout = tuple(variables.get(s, s) if isinstance(s, Var) else s for s in buffer.strides)
    if not _fits(buffer, strides[ahead:], analyzer):
        layout = tuple(
            Var(f"{buffer.name}_s{n}", low.dtype) for n, low in enumerate(place.base[ahead:])
        )
        if buffer.strides or _uses_pointer(impl, buffer):
            raise ScheduleError(
                f"`{buffer.name}` of the implementation has other strides than what it would view "
                f"of `{source.name}`",
                hint="give it symbolic strides, or pack the data by cache_read or transform_layout",
            )
    if analyzer is not None and _uses_pointer(impl, buffer):
        _require_offset(buffer, place, strides, analyzer)
    offset = buffer.elem_offset
    view = buffer.replace(
        data=variables[buffer.data],
        strides=layout,
        elem_offset=variables.get(offset, offset) if isinstance(offset, Var) else offset,
    )
    return View(MatchBufferRegion(view, BufferRegion(source, region)), variables)


def _extent(extent: Expr, low: Expr) -> Expr:
    assert isinstance(extent, IntImm)
    return IntImm(low.dtype, extent.value)


def _require_inside(
    source: Buffer, region: tuple[Range, ...], iterators: Sequence[IterVar], analyzer: Analyzer
) -> None:
    for item, extent in zip(region, source.shape, strict=True):
        inside = analyzer.can_prove(item.min >= 0) and analyzer.can_prove(
            item.min + item.extent <= extent
        )
        if not inside:
            raise ScheduleError(
                f"the intrinsic would access `{source.name}[{_text(region)}]`, which may lie "
                "outside of the buffer",
                counterexample=partial(outside, iterators, region, source),
                hint="tile by factors that divide the extents, or pad first",
            )


def _text(region: tuple[Range, ...]) -> str:
    return ", ".join(
        str(r.min) if is_const_int(r.extent, 1) else f"{r.min}:{r.min + r.extent}" for r in region
    )


def _strides(buffer: Buffer) -> list[Expr]:
    if buffer.strides:
        return list(buffer.strides)
    strides: list[Expr] = []
    step: Expr = IntImm(buffer.shape[-1].dtype, 1) if buffer.shape else IntImm("int32", 1)  # type: ignore[arg-type]
    for extent in reversed(buffer.shape):
        strides.insert(0, step)
        step = step * extent
    return strides


def _fits(buffer: Buffer, strides: list[Expr], analyzer: Analyzer | None) -> bool:
    """Whether the strides that a buffer asks for are those of what it views."""
    prove = (analyzer or Analyzer()).can_prove_equal
    expected = buffer.strides or _strides(buffer.replace(strides=()))
    return all(
        isinstance(want, Var) or is_const_int(extent, 1) or prove(want, stride)
        for extent, want, stride in zip(buffer.shape, expected, strides, strict=True)
    )


def _uses_pointer(impl: Block, buffer: Buffer) -> bool:
    """Whether an implementation uses the pointer of a buffer, also by another view of it."""
    return any(
        node is buffer.data or (isinstance(node, DeclBuffer) and node.buffer.data is buffer.data)
        for node in walk(impl)
    )


def _require_offset(
    buffer: Buffer, place: MatchedBuffer, strides: list[Expr], analyzer: Analyzer
) -> None:
    """Refuse an offset that an implementation which uses the pointer does not expect."""
    start = place.buffer.elem_offset
    for low, stride in zip(place.base, strides, strict=True):
        start = start + low * stride
    wanted = buffer.elem_offset
    fits = (
        analyzer.can_prove_equal(start % buffer.offset_factor, 0)
        if isinstance(wanted, Var)
        else analyzer.can_prove_equal(start, wanted)
    )
    if not fits:
        what = f"multiples of {buffer.offset_factor}" if isinstance(wanted, Var) else str(wanted)
        raise ScheduleError(
            f"`{buffer.name}` of the implementation must start at {what}, but the part of "
            f"`{place.buffer.name}` that it would view starts at {analyzer.simplify(start)}",
            hint="" if isinstance(wanted, Var) else "declare it with offset_factor=1",
        )


@primitive
def tensorize(
    tree: FunctionTree,
    block_or_loop: For | BlockRealize,
    tensor_intrin: str,
    preserve_unit_iters: bool = True,
) -> Edit:
    """Replace what is inside of a loop or a block by the implementation of a tensor intrinsic.

    A loop is first made a block, as by `blockize`. The body of the block must be what the
    intrinsic describes: the same loops around the same blocks, with other names, on parts of the
    program's buffers. It becomes the body of the implementation, on views of these parts.

    Before::

        for i_0 in range(4):
            with T.block("C_o"):
                vi_o = T.axis.spatial(4, i_0)
                T.reads(A[vi_o * 4:vi_o * 4 + 4])
                T.writes(C[vi_o * 4:vi_o * 4 + 4])
                for i_1 in range(4):
                    with T.block("C"):
                        vi_i = T.axis.spatial(4, i_1)
                        C[vi_o * 4 + vi_i] = A[vi_o * 4 + vi_i] * T.float32(2)

    After ``tensorize("C_o", "double4")``::

        for i_0 in range(4):
            with T.block("C_o"):
                vi_o = T.axis.spatial(4, i_0)
                T.reads(A[vi_o * 4:vi_o * 4 + 4])
                T.writes(C[vi_o * 4:vi_o * 4 + 4])
                A_1 = T.match_buffer(A[vi_o * 4:vi_o * 4 + 4], (4,), offset_factor=1)
                C_1 = T.match_buffer(C[vi_o * 4:vi_o * 4 + 4], (4,), offset_factor=1)
                C_1[0:4] = A_1[0:4] * T.Broadcast(T.float32(2), 4)

    Requires: the computation is the one described, and the parts that the intrinsic works on lie
    inside of the buffers, with the strides and offsets that the implementation asks for. That the
    implementation computes what the description says is the promise of whoever registered it.

    Args:
        block_or_loop: what to replace.
        tensor_intrin: the name of a registered `TensorIntrin`.
        preserve_unit_iters: whether loops of one iteration stay in the bindings.

    Raises:
        ScheduleError: if a requirement does not hold.
        UnknownNameError: if there is no such intrinsic.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        j_0, j_1 = sch.split(j, [None, 8])
        sch.tensorize(j_1, "scale_8")
    """
    if not isinstance(tensor_intrin, str):
        raise ArgumentError(f"tensorize: `tensor_intrin` is a name, got {tensor_intrin!r}")
    intrinsic = TensorIntrin.get(tensor_intrin)
    assert intrinsic is not None
    realize = block_or_loop
    if isinstance(realize, For):
        realize = tile_block(tree, realize, preserve_unit_iters)
    analyzer = tree.analyzer(block_or_loop)
    bind_scope(analyzer, realize.block)
    desc = intrinsic_block(intrinsic.desc)
    match = IntrinsicMatch(analyzer)
    try:
        match.match(realize.block, desc)
    except MismatchError as error:
        raise ScheduleError(
            f"{{0}} is not what the intrinsic {tensor_intrin!r} describes: {error}",
            at=[block_or_loop],
            hint="the loops and blocks inside must be in the order of the description",
        ) from None
    places: dict[Buffer, MatchedBuffer] = {}
    buffers = intrinsic_buffers(intrinsic.desc), intrinsic_buffers(intrinsic.impl)
    for described, implemented in zip(*buffers, strict=True):
        places[implemented] = match.places[described]
    impl = intrinsic_block(intrinsic.impl)
    proving = tree.analyzer(block_or_loop) if tree.checked else None
    if proving is not None:
        bind_scope(proving, realize.block)
    iterators = realize.block.iter_vars
    views = {
        buffer: view_of(buffer, place, impl, iterators, proving) for buffer, place in places.items()
    }
    variables: dict[Var, Expr] = {}
    for view in views.values():
        variables.update(view.variables)
    body = copied(impl, str, variables, {b: view.match.buffer for b, view in views.items()})
    assert isinstance(body, Block)
    block = realize.block.replace(
        body=body.body,
        init=realize.block.init if desc.init is None else body.init,
        alloc_buffers=body.alloc_buffers,
        match_buffers=(*(view.match for view in views.values()), *body.match_buffers),
        annotations={**realize.block.annotations, **body.annotations},
    )
    return tree.edit({block_or_loop: realize.replace(block=block)})
