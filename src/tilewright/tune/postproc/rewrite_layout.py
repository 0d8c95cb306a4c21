"""Reorders constants into the order of their use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Expr, Var, const_int_value
from tilewright.schedule_rules.nest import block_of, realize_of
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.schedule.contents import contents
from tilewright.tir.schedule.edits.bindings import bindings_of
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tune.postproc.postproc import Postproc, root_of, trees_of

LAYOUT_FREE: Final = "layout_free_buffers"
"""The attribute of a function with the positions of parameters whose layout is free."""

PREPROC: Final = "meta_schedule.layout_rewrite_preproc"
"""The annotation of the block that copies: it can run once, when the constants are known."""


class RewriteLayout(Postproc):
    """Copies parameters whose layout is free, such as weights, into the order of the loops.

    The attribute `layout_free_buffers` of the function lists their positions. A buffer that one
    block reads is copied by a new block in front of everything; the copy has a dimension for each
    loop along which the block reads it, in the order of the loops.
    """

    def apply(self, sch: Schedule) -> bool:
        """Copy what can be copied; every candidate is accepted."""
        for tree in trees_of(sch):
            for position in tree.func.attrs.get(LAYOUT_FREE) or ():
                buffer = tree.func.buffer_map[tree.func.params[int(position)]]
                reader = _only_reader(sch, root_of(sch, tree), buffer)
                if reader is not None:
                    _rewrite(sch, reader, sch.state.tree(tree.name), buffer)
        return True


def _only_reader(sch: Schedule, root: BlockRV, buffer: Buffer) -> BlockRV | None:
    """The child of the root block that reads a buffer, if there is one only."""
    readers = [
        block
        for block in sch.get_child_blocks(root)
        if any(region.buffer is buffer for region in block_of(sch, block).reads)
    ]
    return readers[0] if len(readers) == 1 else None


class Digit(NamedTuple):
    """A part of an index that one loop counts: ``index // stride % extent``."""

    dimension: int
    stride: int
    extent: int


def _rewrite(sch: Schedule, reader: BlockRV, tree: FunctionTree, buffer: Buffer) -> None:
    digits = _digits_of(tree, realize_of(sch, reader), buffer)
    if digits is None or digits == sorted(digits, key=lambda d: (d.dimension, -d.stride)):
        return
    reads = [region.buffer for region in block_of(sch, reader).reads]
    trial = sch.copy()
    try:
        _copy(trial, reader, _position(reads, buffer), digits)
    except ScheduleError:
        return
    _copy(sch, reader, _position(reads, buffer), digits)


def _position(reads: Sequence[Buffer], buffer: Buffer) -> int:
    return next(n for n, item in enumerate(reads) if item is buffer)


def _copy(sch: Schedule, reader: BlockRV, position: int, digits: Sequence[Digit]) -> None:
    copy = sch.cache_read(reader, position, "global")
    sch.transform_layout(copy, ("write", 0), _index_map(digits))
    sch.annotate(copy, PREPROC, True)


def _index_map(digits: Sequence[Digit]) -> Callable[..., tuple[Any, ...]]:
    def layout(*indices: Any) -> tuple[Any, ...]:
        return tuple(indices[digit.dimension] // digit.stride % digit.extent for digit in digits)

    return layout


def _digits_of(tree: FunctionTree, realize: BlockRealize, buffer: Buffer) -> list[Digit] | None:
    """The parts of the indices of the only load of a buffer, the outermost loop first."""
    loads = [load for load in contents(realize.block).loads if load.buffer is buffer]
    if len(loads) != 1 or contents(realize.block).has_blocks:
        return None
    loops = {loop.loop_var: loop for loop in tree.loops_above(realize)}
    found: dict[Var, Digit] = {}
    bindings = bindings_of(realize)
    for dimension, index in enumerate(loads[0].indices):
        digits = _digits_of_index(dimension, substitute(index, bindings), loops)
        if digits is None or found.keys() & digits.keys():
            return None
        if not _fills(digits, const_int_value(buffer.shape[dimension])):
            return None
        found |= digits
    return [found[var] for var in loops if var in found]


def _digits_of_index(dimension: int, index: Expr, loops: dict[Var, Any]) -> dict[Var, Digit] | None:
    form = affine(index)
    digits: dict[Var, Digit] = {}
    for var, stride in form.terms.items():
        if var not in loops:
            return None
        extent = const_int_value(loops[var].extent)
        if extent is None:
            return None
        if extent > 1:
            digits[var] = Digit(dimension, stride, extent)
    return digits if form.constant == 0 else None


def _fills(digits: dict[Var, Digit], extent: int | None) -> bool:
    """Whether digits count through all values of a dimension, each once."""
    reached = 1
    for digit in sorted(digits.values(), key=lambda d: d.stride):
        if digit.stride != reached:
            return False
        reached *= digit.extent
    return reached == extent
