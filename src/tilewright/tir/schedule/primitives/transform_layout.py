"""The layout of a buffer: its index map and axis separators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import (
    any_buffer,
    as_index_map,
    elements_of,
    recorded_reference,
)
from tilewright.tir.schedule.edits.bindings import reads_memory
from tilewright.tir.schedule.edits.layout import in_layout, padding_of, require_rewritable
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.edits.stage import require_no_alignment
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import collision, hole
from tilewright.tir.schedule.proofs.scope import allocating_block
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, Stmt, seq
from tilewright.tir.substitute import substitute, symbolic_sizes, variables_of


@primitive
def transform_layout(
    tree: FunctionTree,
    block: BlockRealize,
    buffer: Any,
    index_map: IndexMap | Callable[..., Any],
    pad_value: Any = None,
    *,
    assume_injective_transform: bool = False,
) -> Edit:
    """Put the elements of a buffer into another layout.

    Every access of the buffer in the function is rewritten; the order of execution stays the same.
    The layout of a parameter is a part of the interface of the function: callers must pass an array
    in the new layout.

    Before::

        B = T.alloc_buffer((128, 128))
        for i, j in T.grid(128, 128):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    After ``transform_layout("B", ("write", 0), lambda i, j: (i // 16, j // 16, i % 16, j % 16))``::

        B = T.alloc_buffer((8, 8, 16, 16))
        for i, j in T.grid(128, 128):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi // 16, vj // 16, vi % 16, vj % 16] = A[vi, vj] * T.float32(2)

    A layout may have padding: positions that hold no element. The function never reads them. With
    `pad_value` they are set to it by a block ``buffer_B_padding`` at the start of the scope of an
    intermediate buffer, or of the function that writes a parameter. In a parameter that is only
    read, the caller sets them.

    Requires: the index map gives each element a place of its own; the buffer is accessed element
    by element; a parameter that gets padding has a `pad_value`.

    Args:
        block: a block that accesses the buffer.
        buffer: ``("read", index)`` or ``("write", index)``, the name of the buffer, or itself.
        index_map: from the old indices to the new ones, as a function or an `IndexMap`.
        pad_value: what padding is set to: a number that is a value of the dtype of the buffer, or
            a function from the new indices to an expression, which is converted from integers to
            floats. It reads no buffer.
        assume_injective_transform: take the index map to give each element a place of its own,
            unless it is known not to.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(scale_add)
        sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, j // 8, i % 4, j % 8))
    """
    region = any_buffer(block, buffer)
    old = region.buffer
    found = as_index_map(index_map, old.ndim)
    require_rewritable(tree.func.body, old)
    require_no_alignment(tree.blocks(), old)
    owner = allocating_block(tree, old)
    analyzer = Analyzer()
    padding = _padding(found, old, assume_injective_transform and pad_value is None, tree.checked)
    if padding is not None and pad_value is None and owner is None:
        raise ScheduleError(
            f"the new layout of the parameter `{old.name}` has padding where {padding}",
            at=[block],
            counterexample=partial(_empty_place, found, old),
            hint="say by pad_value what it contains",
        )
    new = _in_new_shape(old, found, block)
    place = tree.root if owner is None else owner
    whole = in_layout(place.block, old, new, found, analyzer)
    if pad_value is not None:
        _value(pad_value, new, tuple(Var("i", extent.dtype) for extent in new.shape))
    if pad_value is not None and padding is not None and _is_written(place.block, old):
        filled = _padding_block(found, old, new, pad_value)
        whole = whole.replace(body=seq(filled, whole.body))
    edit = tree.edit({place.block: whole})
    if owner is None:
        edit = Edit(_with_parameter(edit.func, old, new))
    recorded = {"buffer": list(recorded_reference(block, region)), "index_map": found}
    if isinstance(pad_value, Callable):
        recorded["pad_value"] = IndexMap.from_func(pad_value, new.ndim)
    return edit._replace(recorded=recorded)


def _empty_place(index_map: IndexMap, buffer: Buffer) -> object:
    """A place in the new layout where there is no element."""
    elements, shape = elements_of(index_map, buffer.shape), index_map.map_shape(buffer.shape)
    return hole(elements, index_map.final_indices, shape)


def _padding(index_map: IndexMap, buffer: Buffer, assumed: bool, checked: bool) -> Expr | None:
    """The condition for padding in terms of the new indices; None for no padding."""
    try:
        _, padding = padding_of(index_map, buffer.shape)
    except ScheduleError:
        if not assumed:
            raise
        if checked and all(isinstance(extent, IntImm) for extent in buffer.shape):
            _require_no_collision(index_map, buffer)
        return None
    return None if is_const_int(padding, 0) else padding


def _require_no_collision(index_map: IndexMap, buffer: Buffer) -> None:
    """Refuse what is assumed of a map where it is known to be wrong."""
    found = collision(elements_of(index_map, buffer.shape), index_map.final_indices)
    if found is not None:
        raise ScheduleError(
            f"the index map does not give each element of `{buffer.name}` a place of its own, "
            "whatever assume_injective_transform says",
            counterexample=found,
        )


def _in_new_shape(old: Buffer, index_map: IndexMap, block: BlockRealize) -> Buffer:
    try:
        shape = index_map.map_shape(list(old.shape))
    except ArgumentValueError as error:
        raise ScheduleError(f"the new layout has no shape: {error}", at=[block]) from None
    return old.replace(shape=tuple(shape), axis_separators=())


def _with_parameter(func: PrimFunc, old: Buffer, new: Buffer) -> PrimFunc:
    parameters = {param: new if b is old else b for param, b in func.buffer_map.items()}
    changed = func.replace(buffer_map=parameters)
    before, after = set(_defined(func)), set(_defined(changed))
    lost = [var for var in symbolic_sizes(func) if var in before - after]
    if lost:
        raise ScheduleError(
            f"no array would tell any more what `{lost[0].name}` is, which only the shape of "
            f"`{old.name}` does",
            hint="pass the size as a parameter of the function",
        )
    return changed


def _defined(func: PrimFunc) -> list[Var]:
    """The sizes that stand alone in the layout of a parameter, so that a call defines them."""
    return [
        expr
        for buffer in func.buffer_map.values()
        for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset)
        if isinstance(expr, Var)
    ]


def _is_written(block: Block, buffer: Buffer) -> bool:
    return any(isinstance(node, BufferStore) and node.buffer is buffer for node in walk(block))


def _padding_block(index_map: IndexMap, old: Buffer, new: Buffer, pad_value: Any) -> Stmt:
    """Loops that set what is padding in the new layout."""
    back, padding = index_map.non_surjective_inverse(list(old.shape))
    loops = {
        Var(f"axis{n}", axis.dtype): extent
        for n, (axis, extent) in enumerate(zip(back.initial_indices, new.shape, strict=True))
    }
    iterators = tuple(
        IterVar(
            Range.from_min_extent(const(0, extent.dtype), extent),
            Var(f"v_{v.name}", v.dtype),
            IterType.DATA_PAR,
        )
        for v, extent in loops.items()
    )
    indices = tuple(v.var for v in iterators)
    predicate = substitute(padding, dict(zip(back.initial_indices, loops, strict=True)))
    one = const(1, indices[0].dtype)
    region = BufferRegion(new, tuple(Range.from_min_extent(index, one) for index in indices))
    block = Block(
        iterators, (), (region,), f"buffer_{new.name}_padding",
        BufferStore(new, _value(pad_value, new, indices), indices), key=BlockKey(),
    )  # fmt: skip
    _, outermost = nest(loops, BlockRealize(tuple(loops), predicate, block))
    return outermost


def _value(pad_value: Any, buffer: Buffer, indices: tuple[Var, ...]) -> Expr:
    if callable(pad_value):
        pad_value = IndexMap.from_func(pad_value, len(indices))
    if isinstance(pad_value, IndexMap):
        if len(pad_value.final_indices) != 1:
            raise ScheduleError(
                f"pad_value gives one value, got {len(pad_value.final_indices)} of them"
            )
        (pad_value,) = pad_value.map_indices(indices)
    value = as_expr(pad_value)
    outside = set(variables_of(value)) - set(indices)
    if outside or reads_memory(value):
        raise ScheduleError("pad_value depends on more than the indices of the new layout")
    result = cast(buffer.dtype, value)
    is_changed = False
    if isinstance(value, IntImm) and isinstance(result, (IntImm, FloatImm)):
        is_changed = result.value != value.value
    if is_changed or (value.dtype.is_float and not buffer.dtype.is_float):
        raise ScheduleError(f"pad_value is {value}, but `{buffer.name}` is {buffer.dtype!s}")
    return result


@primitive
def set_axis_separator(
    tree: FunctionTree,
    block: BlockRealize,
    buffer: Any,
    axis_separators: Sequence[int] | None,
) -> Edit:
    """Set the dimensions of a buffer at which a new physical dimension starts.

    Without separators, a buffer is flattened to one dimension; with one of them, to two.

    Before::

        B = T.alloc_buffer((16, 32))
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    After ``set_axis_separator("B", ("write", 0), [1])``::

        B = T.alloc_buffer((16, 32), axis_separators=[1])
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    Args:
        block: a block that accesses the buffer.
        buffer: ``("read", index)`` or ``("write", index)``, the name of the buffer, or itself.
        axis_separators: the dimensions in ascending order, each at least 1 and less than the
            number of dimensions; None for none.

    Raises:
        ScheduleError: for other separators, or a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(scale_add)
        sch.set_axis_separator("B", ("write", 0), [1])
    """
    region = any_buffer(block, buffer)
    found = region.buffer
    recorded = {"buffer": list(recorded_reference(block, region))}
    separators = _separators(block, found, axis_separators or ())
    _require_no_views(tree, found)
    changed = found.replace(axis_separators=tuple(map(as_expr, separators)))
    owner = allocating_block(tree, found)
    if owner is not None:
        edit = tree.edit({owner.block: substitute(owner.block, {}, {found: changed})})
        return edit._replace(recorded=recorded)
    parameters = {
        param: changed if item is found else item for param, item in tree.func.buffer_map.items()
    }
    body = substitute(tree.func.body, {}, {found: changed})
    func = tree.func.replace(buffer_map=parameters, body=body)
    return Edit(func, recorded=recorded)


def _separators(block: BlockRealize, buffer: Buffer, wanted: Sequence[int]) -> list[int]:
    if not isinstance(wanted, (list, tuple)):
        raise ScheduleError(f"the separators are a list of dimensions, got {wanted!r}", at=[block])
    previous = 0
    for axis in wanted:
        if not isinstance(axis, int) or not previous < axis < buffer.ndim:
            raise ScheduleError(
                f"the separators of `{buffer.name}` must ascend between 1 and {buffer.ndim - 1}, "
                f"got {list(wanted)}",
                at=[block],
            )
        previous = axis
    return list(wanted)


def _require_no_views(tree: FunctionTree, buffer: Buffer) -> None:
    """Refuse a view and a buffer with views, which would be flattened differently."""
    for node in walk(tree.func.body):
        if isinstance(node, MatchBufferRegion):
            if node.buffer is buffer:
                raise ScheduleError(
                    f"`{buffer.name}` is a view of `{node.source.buffer.name}` made by match_buffer"
                )
            if node.source.buffer is buffer:
                raise ScheduleError(
                    f"`{node.buffer.name}` is a view of `{buffer.name}` made by match_buffer, "
                    "which would be flattened differently"
                )
