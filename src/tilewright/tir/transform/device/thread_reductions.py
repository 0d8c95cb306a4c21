"""Reduction blocks whose loops are bound to threads, and which of them threads can share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.ir.expr import Var, const_int_value, is_const_int
from tilewright.tir.analysis.reduction import Reduction, match_reduction
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    For,
    SeqStmt,
    Stmt,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.opened_blocks import (
    is_open,
)
from tilewright.tir.transform.device.thread_axes import BLOCKS, THREADS, is_bound, tag_of


class ReductionBlock(NamedTuple):
    """A reduction block, and the statements around it.

    Attributes:
        realize: the block.
        path: what is around it, from the outermost reduction loop on.
    """

    realize: BlockRealize
    path: tuple[Stmt, ...]

    @property
    def name(self) -> str:
        """The name of the block."""
        return self.realize.block.name_hint

    @property
    def loops(self) -> list[For]:
        """The loops around it, the outermost first."""
        return [stmt for stmt in self.path if isinstance(stmt, For)]

    @property
    def reduced(self) -> set[Var]:
        """The variables that its reduction iterators are made of."""
        return iterated_by(self.realize, IterType.COMM_REDUCE)

    @property
    def spatial(self) -> set[Var]:
        """The variables that its other iterators are made of."""
        return iterated_by(self.realize, IterType.DATA_PAR)

    @property
    def bound(self) -> list[For]:
        """The loops that are bound to blocks and threads."""
        return [loop for loop in self.loops if is_bound(loop) and tag_of(loop) in BLOCKS + THREADS]

    @property
    def shared(self) -> list[For]:
        """The reduction loops that threads share."""
        return [
            loop
            for loop in self.bound
            if loop.loop_var in self.reduced and not is_const_int(loop.extent, 1)
        ]


def iterated_by(realize: BlockRealize, kind: IterType) -> set[Var]:
    return {
        var
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if item.iter_type is kind
        for var in variables_of(value)
    }


def blocks_below(stmt: Stmt, path: tuple[Stmt, ...] = ()) -> Iterator[ReductionBlock]:
    """The blocks below a statement, without those inside of them."""
    if isinstance(stmt, BlockRealize) and not is_open(stmt):
        yield ReductionBlock(stmt, path)
        return
    for child in stmt.children():
        if isinstance(child, Stmt):
            yield from blocks_below(child, (*path, stmt))


def require_hoisted(leaf: ReductionBlock, hoisted: Sequence[For]) -> None:
    """Refuse a nest whose loops over threads cannot be around everything else in it."""
    name, first = leaf.name, leaf.shared[0]
    start = f"block {name} reduces along loop {first.loop_var.name}, bound to {tag_of(first)}, "
    if leaf.bound != hoisted:
        raise KernelError(
            f"{start}and other blocks inside of the same reduction loops do so along other threads",
            loops=[first.loop_var],
            hint="compute them in loops of their own",
        )
    around = {loop.loop_var for loop in leaf.loops}
    for loop in leaf.bound:
        if const_int_value(loop.extent) is None and tag_of(loop) in THREADS:
            raise not_constant(name, loop)
        if around.intersection([*variables_of(loop.min), *variables_of(loop.extent)]):
            raise KernelError(
                f"{start}and how many iterations loop {loop.loop_var.name} has changes with loops "
                "around it",
                loops=[loop.loop_var],
                hint="use the largest number, and a condition inside",
            )
    last = max(leaf.path.index(loop) for loop in hoisted)
    for stmt in leaf.path:
        is_around = isinstance(stmt, (SeqStmt, BlockRealize, Block))
        if isinstance(stmt, For) or (is_around and leaf.path.index(stmt) > last):
            continue
        if is_around:
            raise KernelError(
                f"{start}and other statements stand between this loop and an outer loop of the "
                "reduction",
                loops=[first.loop_var],
                hint="make the loop over threads the outermost of the reduction",
            )
        raise KernelError(
            f"{start}and a condition or a definition stands inside of the reduction",
            loops=[first.loop_var],
            hint="move it out",
        )


def not_constant(block: str, loop: For) -> KernelError:
    """The refusal of a loop over threads whose extent is not constant."""
    return KernelError(
        f"block {block}: loop {loop.loop_var.name} has {loop.extent} iterations and is bound to "
        f"{tag_of(loop)}: the number of threads of a block is a constant",
        loops=[loop.loop_var],
        hint="split the loop, and bind the inner part",
    )


def reduction_of(leaf: ReductionBlock) -> Reduction:
    """What a block does.

    Raises:
        KernelError: if that is not known, or depends on the order.
    """
    block, loop = leaf.realize.block, leaf.shared[0]
    start = f"block {leaf.name}: loop {loop.loop_var.name} is bound to {tag_of(loop)}, "
    found = None if block.match_buffers or block.alloc_buffers else match_reduction(block)
    if found is None:
        raise KernelError(
            f"{start}and what the block does along it is not known to be a reduction, such as "
            "C[i] = C[i] + A[i, k]",
            loops=[loop.loop_var],
            hint="bind another loop",
        )
    iterators = [item.var for item in block.iter_vars if item.iter_type is IterType.COMM_REDUCE]
    places = [index for target in found.targets for index in target.indices]
    if leaf.spatial & leaf.reduced or any(
        var in iterators for i in places for var in variables_of(i)
    ):
        raise KernelError(
            f"{start}and where the block stores changes with its reduction",
            loops=[loop.loop_var],
            hint="split the loop into those of the reduction and others, and bind these",
        )
    disagreement = found.order_matters()
    if disagreement:
        raise KernelError(
            f"{start}and threads combine its elements in any order, which matters: {disagreement}",
            loops=[loop.loop_var],
            hint=found.order_hint or "",
        )
    return found
