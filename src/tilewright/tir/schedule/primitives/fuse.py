"""Fusing nested loops into one."""

from __future__ import annotations

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, Var
from tilewright.tir.index_limits import is_product_bounded
from tilewright.tir.schedule.edits.bindings import bind_loops, rebind
from tilewright.tir.schedule.edits.loops import nest, require_nested, require_plain
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import For
from tilewright.tir.substitute import variables_of


@primitive
def fuse(tree: FunctionTree, *loops: For, preserve_unit_iters: bool = True) -> Edit:
    """Fuse perfectly nested loops into one.

    The order of execution stays the same.

    Before::

        for i, j in T.grid(16, 32):
            S(i, j)

    After ``fuse(i, j)``::

        for i_j_fused in range(512):
            S(i_j_fused // 32, i_j_fused % 32)

    The fused loop counts in int64 if its iterations are too many for the dtype of the loops.

    Requires: each loop contains the next one and nothing else, none has annotations or a thread
    binding, and no extent depends on the variable of another one. Loops of a reduction that may
    have no iteration are not fused with spatial loops: a symbolic size may be 0, unless the
    function says otherwise (``T.evaluate(T.assume(n > 0))``).

    Args:
        loops: the loops, from the outermost on.
        preserve_unit_iters: whether loops of one iteration are kept in the result's bindings.

    Returns:
        The fused loop.

    Raises:
        ScheduleError: for loops that are not perfectly nested, or depend on each other, or if a
            reduction over nothing would no longer initialise its elements.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.fuse(i, j)
    """
    if not loops:
        raise ScheduleError("fuse needs at least one loop")
    for loop in loops:
        require_plain(loop)
    require_nested(tree, loops)
    _require_independent(loops)
    name = "_".join(loop.loop_var.name for loop in loops)
    dtype = _dtype_of_all(tree, loops)
    fused = Var(f"{name}_fused", dtype)
    analyzer = tree.analyzer(loops[0])
    size: Expr = const(1, dtype)
    values: dict[Var, Expr] = {}
    for position, loop in reversed(list(enumerate(loops))):
        reach = analyzer.simplify(size * loop.extent)
        digit = fused // size if position == 0 else fused % reach // size
        values[loop.loop_var] = loop.min + cast(loop.loop_var.dtype, digit)
        size = reach
    bind_loops(analyzer, {fused: size}, preserve_unit_iters)
    body = rebind(loops[-1].body, values, analyzer)
    (new,), _ = nest({fused: size}, body)
    return tree.edit({loops[0]: new}, new)


def _dtype_of_all(tree: FunctionTree, loops: tuple[For, ...]) -> DType:
    """The dtype of a loop over all iterations: int64 if they may be too many for the loops' own."""
    dtype = max((loop.loop_var.dtype for loop in loops), key=lambda dtype: dtype.bits)
    shapes = (buffer.shape for buffer in tree.func.buffer_map.values())
    is_bounded = is_product_bounded([loop.extent for loop in loops], shapes, dtype)
    return dtype if is_bounded else INT64


def _require_independent(loops: tuple[For, ...]) -> None:
    for position, inner in enumerate(loops):
        mentioned = variables_of(inner.extent) + variables_of(inner.min)
        for outer in loops[:position]:
            if any(var is outer.loop_var for var in mentioned):
                raise ScheduleError(
                    "the bounds of {1} depend on the variable of {0}", at=[outer, inner]
                )
