"""The constructs of blocks and of their initialisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.interval import interval_of
from tilewright.error import DiagnosticError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.script.builder.control import ForFrame
from tilewright.script.builder.function import FunctionFrame
from tilewright.script.builder.stack import Builder, Frame, add_statement, enclosing
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import Block, BlockRealize, Stmt
from tilewright.tir.substitute import substitute, variables_of


class BlockFrame(Frame):
    """An open block.

    Args:
        name: by which schedules find it.
        no_realize: make a `Block` alone, without bindings of its iterators.
    """

    def __init__(self, name: str = "", no_realize: bool = False) -> None:
        super().__init__()
        self.name, self.no_realize = name, no_realize
        self.iter_vars: list[IterVar] = []
        self.iter_values: list[Expr] = []
        self.reads: tuple[BufferRegion, ...] | None = None
        self.writes: tuple[BufferRegion, ...] | None = None
        self.init: Stmt | None = None
        self.alloc_buffers: list[Buffer] = []
        self.match_buffers: list[MatchBufferRegion] = []
        self.annotations: dict[str, Any] | None = None
        self.predicate: Expr | None = None

    def describe(self) -> str:
        return "T.block"

    def value(self) -> None:
        return None

    def closed(self, builder: Builder) -> None:
        self._check_names()
        block = Block(
            tuple(self.iter_vars), self.reads or (), self.writes or (), self.name, self.body(),
            self.init, tuple(self.alloc_buffers), tuple(self.match_buffers),
            self.annotations or {}, self.span,
        )  # fmt: skip
        if not self.no_realize:
            block = self._with_loops_bound(builder, block)
        block = self._complete(block)
        if self.no_realize:
            if self.iter_values:
                raise DiagnosticError("a block with no_realize=True has iterators without bindings")
            add_statement(block)
            return
        if len(self.iter_values) != len(self.iter_vars):
            raise DiagnosticError("every T.axis of the block needs a binding, such as a loop")
        predicate = const(True) if self.predicate is None else self.predicate
        add_statement(BlockRealize(tuple(self.iter_values), predicate, block, self.span))

    def _check_names(self) -> None:
        names = [iterator.var.name for iterator in self.iter_vars if iterator.var.name]
        for name in names:
            if names.count(name) > 1:
                raise DiagnosticError(f"two iterators of block {self.name} are called `{name}`")

    def _with_loops_bound(self, builder: Builder, block: Block) -> Block:
        """`block` with an opaque iterator for each loop outside of it that it mentions.

        The domain of an iterator that depends on such loops becomes that for all iterations.
        """
        loops = _loops_around(builder)
        function = enclosing(FunctionFrame)
        if not loops or (function is not None and not function.binds_loops):
            return block
        iterators = tuple(_with_whole_domain(item, loops) for item in block.iter_vars)
        mentioned = loops.keys() & set(variables_of(block.replace(iter_vars=())))
        if not mentioned:
            self.iter_vars = list(iterators)
            return block.replace(iter_vars=iterators)
        bound: dict[Var, Expr] = {}
        for loop in (var for var in loops if var in mentioned):
            domain = _whole_range(loops[loop], loops)
            if domain is not None:
                var = Var(f"v{loop.name}", loop.dtype)
                bound[loop] = var
                iterators += (IterVar(domain, var, IterType.OPAQUE),)
                self.iter_values.append(loop)
        self.iter_vars = list(iterators)
        # What was written for the block is in terms of its iterators from here on.
        block = substitute(block.replace(iter_vars=()), bound).replace(iter_vars=iterators)
        self.reads = None if self.reads is None else block.reads
        self.writes = None if self.writes is None else block.writes
        return block

    def _complete(self, block: Block) -> Block:
        """`block` with the regions that the user left out."""
        if self.reads is not None and self.writes is not None:
            return block
        reads, writes = infer_block_regions(block)
        block = block.replace(
            reads=reads if self.reads is None else self.reads,
            writes=writes if self.writes is None else self.writes,
        )
        function = enclosing(FunctionFrame)
        if function is not None and self.reads is None and self.writes is None:
            function.inferred.add(block)
        return block


def _loops_around(builder: Builder) -> dict[Var, Range]:
    """The open loops inside of the innermost open block, outermost first."""
    loops: dict[Var, Range] = {}
    for frame in builder.frames:
        if isinstance(frame, BlockFrame):
            loops.clear()
        elif isinstance(frame, ForFrame):
            for var, (low, extent) in zip(frame.loop_vars, frame.domains, strict=True):
                loops[var] = Range.from_min_extent(low, extent)
    return loops


def _with_whole_domain(iterator: IterVar, loops: Mapping[Var, Range]) -> IterVar:
    """An iterator whose domain does not depend on loops."""
    domain = iterator.dom
    if domain is None or not set(variables_of(domain)) & loops.keys():
        return iterator
    is_reduction = iterator.iter_type is IterType.COMM_REDUCE
    if is_reduction and set(variables_of(domain.min)) & loops.keys():
        return iterator  # where it starts decides when there is an initialisation
    whole = _whole_range(domain, loops)
    return iterator if whole is None else iterator.replace(dom=whole)


def _whole_range(domain: Range, loops: Mapping[Var, Range]) -> Range | None:
    """All values of a range while loops run; None if that is not known."""
    if not set(variables_of(domain)) & loops.keys():
        return domain
    outer: dict[Var, Range] = {}
    for var, item in loops.items():
        whole = item if not set(variables_of(item)) & outer.keys() else _whole_range(item, outer)
        if whole is None:
            return None
        outer[var] = whole
    low = interval_of(domain.min, outer).min_value
    end = interval_of(domain.min + domain.extent, outer).max_value
    return (
        None
        if low is None or end is None
        else Range.from_min_extent(low, Analyzer().simplify(end - low))
    )


class InitFrame(Frame):
    """The open initialisation of a reduction."""

    block: BlockFrame

    def describe(self) -> str:
        return "T.init"

    def opened(self, builder: Builder) -> None:
        frame = builder.frames[-1] if builder.frames else None
        if not isinstance(frame, BlockFrame):
            raise DiagnosticError("T.init belongs directly inside of T.block")
        if frame.init is not None:
            raise DiagnosticError("the block has a T.init already: put all stores into one")
        self.block = frame

    def closed(self, builder: Builder) -> None:
        self.block.init = self.body()
