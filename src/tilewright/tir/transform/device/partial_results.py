"""A reduction block that threads share: the part of each thread, and how they are combined."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, Var, const_int_value
from tilewright.tir.analysis.reduction import initial_values
from tilewright.tir.buffer import Buffer, BufferLoad, Range, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import (
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    Stmt,
    seq,
)
from tilewright.tir.substitute import Substitution, substitute, variables_of
from tilewright.tir.transform.building.combination import store_into
from tilewright.tir.transform.device.combine_in_warps import combined_in_warps, warps_of
from tilewright.tir.transform.device.combine_parts import Parts, Result, combined
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.opened_blocks import TRUE, with_regions
from tilewright.tir.transform.device.thread_axes import THREADS, tag_of
from tilewright.tir.transform.device.thread_reductions import (
    ReductionBlock,
    not_constant,
    reduction_of,
)
from tilewright.tir.transform.hoist_init import initial_predicate


class PartialReduction:
    """What the threads do for one block.

    Args:
        block: the block.
        hoisted: the loops over blocks and threads, which come out of its reduction loops.
        around: the loops over threads around these.
        axes: the numbers of threads of a block along the axes, as far as they are constants.
        warp_size: number of threads that can exchange values without memory; 0 if none can.

    Attributes:
        block: the block.
        reduction: what it does.
        update: the block that reduces into the memory of a thread.
        memory: the buffers of the parts.
        _inner: the loops over results inside of the reduction.
        _done: the variables that mean nothing after the reduction, with their first values.
    """

    def __init__(
        self,
        block: ReductionBlock,
        hoisted: Sequence[For],
        around: Sequence[For],
        axes: Mapping[str, int],
        warp_size: int,
    ) -> None:
        self.block = block
        self.reduction = reduction_of(block)
        below = [loop for loop in block.loops if loop not in hoisted]
        own = block.spatial - block.reduced
        self._inner = [loop for loop in below if loop.loop_var in own]
        # Others than those of the reduction are of no iterator; only a predicate can name them.
        self._done = {
            loop.loop_var: loop.min
            for loop in block.loops
            if loop.loop_var in block.reduced or (loop in below and loop.loop_var not in own)
        }
        self._require_fixed_loops()
        self._initial = self._initial_values()
        start = self.reduction.start_of_parts(self._initial, may_be_empty=True)
        if start is None:
            first = block.shared[0]
            raise KernelError(
                f"block {block.name}: loop {first.loop_var.name} is bound to {tag_of(first)}, and "
                "there is no value from which threads could start: each changes some result that "
                "it is combined with",
                loops=[first.loop_var],
                hint="bind another loop",
            )
        self._start = start
        targets = [target.buffer for target in self.reduction.targets]
        shape = [loop.extent for loop in self._inner] or [1]
        self._own = [
            decl_buffer(shape, str(t.dtype), f"{t.name}_part", scope="local") for t in targets
        ]
        self._rows = _rows(around, hoisted, block)
        self._warps = warps_of(block.shared, self._rows, axes, warp_size)
        count = math.prod(const_int_value(loop.extent) or 1 for loop in block.shared)
        count = count if self._warps is None else self._warps.total
        rows = [loop.extent for loop in self._rows]
        self._shared = [
            decl_buffer([*rows, count], str(t.dtype), f"{t.name}_parts", scope="shared")
            for t in (targets if count > 1 else ())
        ]
        self.memory = (*self._own, *self._shared)
        self.update = self._updating()

    def _require_fixed_loops(self) -> None:
        around = {loop.loop_var for loop in self.block.loops}
        for loop in self._inner:
            changing = around.intersection(variables_of(loop.min))
            if const_int_value(loop.extent) is None or changing:
                first = self.block.shared[0]
                raise KernelError(
                    f"block {self.block.name} reduces along loop {first.loop_var.name}, bound to "
                    f"{tag_of(first)}, for all {loop.extent} iterations of loop "
                    f"{loop.loop_var.name} inside, which is not constant: a thread has no memory "
                    "for that many results",
                    loops=[loop.loop_var, first.loop_var],
                    hint="move the loop out of the reduction",
                )

    def _initial_values(self) -> tuple[Expr, ...] | None:
        block = self.block.realize.block
        if block.init is None:
            return None
        found = initial_values(block, self.reduction)
        if found is None:
            raise KernelError(
                f"block {self.block.name}: its init does more than to store into what the block "
                "reduces, so that threads cannot share the reduction",
                loops=[self.block.shared[0].loop_var],
                hint="use decompose_reduction first",
            )
        return found

    def _element(self, position: int, indices: Sequence[Expr]) -> BufferLoad:
        """The part of a thread, by the iterations of the inner loops."""
        return BufferLoad(self._own[position], tuple(indices) or (const(0),))

    def start(self) -> Stmt:
        """The parts get their first values."""
        loops = [_copy(loop, f"{loop.loop_var.name}_init") for loop in self._inner]
        indices = [as_expr(loop.loop_var - loop.min) for loop in loops]
        values = self._bound({old.loop_var: new.loop_var for old, new in self._pairs(loops)})
        stores = [
            store_into(self._element(n, indices), substitute(value, values))
            for n, value in enumerate(self._start)
        ]
        return _around(loops, seq(stores))

    def _pairs(self, loops: Sequence[For]) -> Iterator[tuple[For, For]]:
        return zip(self._inner, loops, strict=True)

    def _bound(self, inner: dict[Var, Expr]) -> dict[Var, Expr]:
        """The iterators of the block at the start of the reduction."""
        realize, found = self.block.realize, dict[Var, Expr]()
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if item.iter_type is IterType.COMM_REDUCE and item.dom is not None:
                value = item.dom.min
            found[item.var] = substitute(value, inner)
        return found

    def _updating(self) -> BlockRealize:
        """The block, which reduces into the part of a thread."""
        realize, block = self.block.realize, self.block.realize.block
        iter_vars, indices = list(block.iter_vars), list[Expr]()
        iter_values = [*realize.iter_values]
        for loop in self._inner:
            var = Var(f"v_{loop.loop_var.name}", loop.loop_var.dtype)
            domain = Range.from_min_extent(loop.min, loop.extent)
            iter_vars.append(IterVar(domain, var, IterType.DATA_PAR))
            iter_values.append(loop.loop_var)
            indices.append(as_expr(var - loop.min))
        targets = {target.buffer: n for n, target in enumerate(self.reduction.targets)}
        body = _Redirection({b: self._element(n, indices) for b, n in targets.items()})(block.body)
        made = with_regions(block.replace(iter_vars=tuple(iter_vars), body=body, init=None))
        return realize.replace(iter_values=tuple(iter_values), block=made)

    def end(self, conditions: Mapping[Var, Expr]) -> Stmt:
        """The parts are combined, and the result is stored.

        Args:
            conditions: which threads of an axis have parts, by the variables of the loops over
                threads that are shorter than their axes.
        """
        realize, leaf = self.block.realize, self.block
        loops = [_copy(loop, loop.loop_var.name) for loop in self._inner]
        inner: dict[Var, Expr] = {old.loop_var: new.loop_var for old, new in self._pairs(loops)}
        indices = [as_expr(loop.loop_var - loop.min) for loop in loops]
        predicate = initial_predicate(
            realize.block, realize.iter_values, realize.predicate, self._done, leaf.loops
        )
        bound = self._bound(inner)
        targets = [substitute(target, bound) for target in self.reduction.targets]
        initial = self._initial
        shared = {loop.loop_var for loop in leaf.shared}
        of_rows = [condition for var, condition in conditions.items() if var not in shared]
        parts = Parts(
            self.reduction.combiner,
            [self._element(n, indices) for n in range(len(targets))],
            [substitute(value, bound) for value in self._start],
            self._shared,
            [as_expr(loop.loop_var - loop.min) for loop in self._rows],
            leaf.shared,
            functools.reduce(logical_and, conditions.values(), TRUE),
            functools.reduce(logical_and, of_rows, TRUE),
        )
        result = Result(
            targets,
            None if initial is None else [substitute(value, bound) for value in initial],
            substitute(predicate, inner),
        )
        if self._warps is None:
            return _around(loops, combined(parts, result))
        return _around(loops, combined_in_warps(parts, result, self._warps))


def _rows(around: Sequence[For], hoisted: Sequence[For], leaf: ReductionBlock) -> list[For]:
    """The loops over threads that have results of their own, one for each axis."""
    shared = {tag_of(loop) for loop in leaf.shared}
    by_tag = {tag_of(loop): loop for loop in (*around, *hoisted) if tag_of(loop) in THREADS}
    found = [loop for tag, loop in by_tag.items() if tag not in shared]
    for loop in found:
        if const_int_value(loop.extent) is None:
            raise not_constant(leaf.name, loop)
    return found


class _Redirection(Substitution):
    """Replaces targets by parts."""

    def __init__(self, elements: dict[Buffer, BufferLoad]) -> None:
        super().__init__({})
        self._elements = elements

    def BufferLoad(self, load: BufferLoad) -> Expr:
        element = self._elements.get(load.buffer)
        return super().BufferLoad(load) if element is None else element

    def BufferStore(self, store: BufferStore) -> Stmt:
        element = self._elements.get(store.buffer)
        changed = super().BufferStore(store)
        return changed if element is None else store_into(element, changed.value)


def _copy(loop: For, name: str) -> For:
    """A serial loop like another one."""
    return For(Var(name, loop.loop_var.dtype), loop.min, loop.extent, ForKind.SERIAL, loop.body)


def _around(loops: Sequence[For], body: Stmt) -> Stmt:
    for loop in reversed(loops):
        body = loop.replace(body=body)
    return body
