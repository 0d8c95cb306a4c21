"""Blocks that are seen through while a pass works, and are blocks again afterwards.

A block mentions nothing but its own iterators. While loops are moved around blocks that have memory
for what is in them, it is easier to let them mention the loops themselves::

    for k in range(8):                          for k in range(8):
        with block("B_outer"):                      with block("B_outer"):
            v_k = T.axis.reduce(8, k)      <->          part = T.alloc_buffer(...)
            part = T.alloc_buffer(...)                  ... k ...
            ... v_k ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.error import DiagnosticError, LoweringError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.transform.building.statements import statements

TRUE: Final = const(True)


def is_open(realize: BlockRealize) -> bool:
    """Whether a block stands for nothing but its body and its memory."""
    block = realize.block
    return not block.iter_vars and block.init is None and not block.match_buffers


def open_block(name: str, body: Stmt, memory: tuple[Buffer, ...]) -> BlockRealize:
    """A statement with memory, as a block that may mention the loops around."""
    return BlockRealize((), TRUE, Block((), (), (), name, body, None, memory))


def opened(stmt: Stmt, wanted: Callable[[BlockRealize], bool]) -> Stmt:
    """`stmt` with some of the blocks around other blocks opened.

    Args:
        stmt: the statement.
        wanted: which blocks; those that reduce themselves never are.
    """
    return _Opening(wanted)(stmt)


def closed(stmt: Stmt) -> Stmt:
    """`stmt` with iterators for what blocks mention of the loops around."""
    return _Closing()(stmt)


class _Opening(Rewriter):
    def __init__(self, wanted: Callable[[BlockRealize], bool]) -> None:
        self._wanted = wanted

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        block = realize.block
        has_blocks = any(isinstance(stmt, BlockRealize) for stmt in statements(block.body))
        if has_blocks and block.init is None and self._wanted(realize):
            iterators = (item.var for item in block.iter_vars)
            body = substitute(block.body, dict(zip(iterators, realize.iter_values, strict=True)))
            body = _Condition(realize.predicate)(body)
            realize = open_block(block.name_hint, body, block.alloc_buffers)
        return realize.map_children(self)


class _Condition(Rewriter):
    """Lets blocks run under another condition, too."""

    def __init__(self, condition: Expr) -> None:
        self._condition = condition

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        return realize.replace(predicate=logical_and(self._condition, realize.predicate))


class _Closing(Rewriter):
    def __init__(self) -> None:
        self._domains: dict[Var, Range] = {}

    def For(self, loop: For) -> Stmt:
        self._domains[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
        return loop.map_children(self)

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        block, was_open = realize.block, is_open(realize)
        if was_open:
            used = [var for var in variables_of(block.body) if var in self._domains]
            fresh = {var: Var(f"v_{var.name}", var.dtype) for var in dict.fromkeys(used)}
            block = block.replace(
                iter_vars=tuple(
                    IterVar(self._domains[var], new, IterType.DATA_PAR)
                    for var, new in fresh.items()
                ),
                body=substitute(block.body, fresh),
            )
            realize = BlockRealize(tuple(fresh), realize.predicate, block)
        for item in block.iter_vars:
            if item.dom is not None:
                self._domains[item.var] = item.dom
        changed = realize.map_children(self)
        return changed.replace(block=with_regions(changed.block)) if was_open else changed


def with_regions(block: Block) -> Block:
    """`block` with the regions that it accesses.

    Raises:
        LoweringError: if they are not known, as it uses a pointer.
    """
    try:
        reads, writes = infer_block_regions(block)
    except DiagnosticError as error:
        raise LoweringError(str(error)) from None
    return block.replace(reads=reads, writes=writes)
