"""Making a block of a tile, or of several blocks."""

from __future__ import annotations

from tilewright.tir.schedule.edits.tile_blocks import joint_block, tile_block
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


@primitive
def blockize(
    tree: FunctionTree, target: For | list[BlockRealize], preserve_unit_iters: bool = True
) -> Edit:
    """Make one block of what is inside of a loop, or of several blocks next to each other.

    The order of execution stays the same.

    Before::

        for i_0, i_1 in T.grid(8, 16):
            with T.block("B"):
                vi = T.axis.spatial(128, i_0 * 16 + i_1)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)

    After ``blockize(i_1)``::

        for i_0 in range(8):
            with T.block("B_o"):
                vi_o = T.axis.spatial(8, i_0)
                T.reads(A[vi_o * 16:vi_o * 16 + 16])
                T.writes(B[vi_o * 16:vi_o * 16 + 16])
                for i_1 in range(16):
                    with T.block("B"):
                        vi_i = T.axis.spatial(16, i_1)
                        T.reads(A[vi_o * 16 + vi_i])
                        T.writes(B[vi_o * 16 + vi_i])
                        B[vi_o * 16 + vi_i] = A[vi_o * 16 + vi_i] * T.float32(2)

    In a reduction, the initialisation moves into the new block: all elements of a tile are
    initialised before they are updated.

    Requires: what each iterator of a block is bound to is a multiple of a tile, made of the loops
    outside, plus a position in the tile, made of the loops inside; conditions and bounds inside
    depend on outer loops only as far as the new iterators tell.

    Args:
        target: a loop with one block in it, or a block, or a list of blocks next to each other.
        preserve_unit_iters: whether loops of one iteration stay in the bindings.

    Returns:
        The new block, called ``B_o``, or ``outer_B_C_`` for blocks ``B`` and ``C``.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        i_0, i_1 = sch.split(i, [None, 4])
        j_0, j_1 = sch.split(j, [None, 8])
        sch.reorder(i_0, j_0, i_1, j_1, k)
        sch.blockize(i_1)
    """
    if isinstance(target, For):
        block = tile_block(tree, target, preserve_unit_iters)
        return tree.edit({target: block}, block)
    if isinstance(target, BlockRealize):  # one may be given outside of a list
        target = [target]
    if not target or not all(isinstance(item, BlockRealize) for item in target):
        raise ScheduleError("blockize needs a loop, or a list of at least one block")
    return joint_block(tree, target, preserve_unit_iters)
