"""The constructs of blocks and of their initialisation."""

from __future__ import annotations

from typing import Any

from tilewright.error import DiagnosticError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr
from tilewright.script.builder.function import FunctionFrame
from tilewright.script.builder.stack import Builder, Frame, add_statement, enclosing
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, BufferRegion, MatchBufferRegion
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import Block, BlockRealize, Stmt


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
        block = Block(
            tuple(self.iter_vars), self.reads or (), self.writes or (), self.name, self.body(),
            self.init, tuple(self.alloc_buffers), tuple(self.match_buffers),
            self.annotations or {}, self.span,
        )  # fmt: skip
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
