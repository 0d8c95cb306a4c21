"""Replacing a computation by a tensor intrinsic."""

from __future__ import annotations

from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.schedule.edits.intrinsic_match import IntrinsicMatch, MismatchError, Place
from tilewright.tir.schedule.edits.intrinsic_view import view_of
from tilewright.tir.schedule.edits.tile_block import tile_block
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockRealize, For
from tilewright.tir.tensor_intrin import TensorIntrin, intrinsic_block, intrinsic_buffers


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
    implementation computes what the description says is the promise of who registered it.

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
    places: dict[Buffer, Place] = {}
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
