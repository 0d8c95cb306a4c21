"""How many arithmetic operations a tensor program does, and how much memory it allocates."""

from __future__ import annotations

from typing import Final

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.expr import (
    Add,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Select,
    Sub,
)
from tilewright.ir.module import IRModule
from tilewright.ir.node import Node
from tilewright.ir.recursion import deep_recursion
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, Block, BufferStore, Evaluate, For, IfThenElse, Stmt, While

ESTIMATED: Final = "estimated_flops"
"""The attribute of a function that says how many operations it does."""

_OPERATIONS: Final = (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max)


@deep_recursion
def estimate_tir_flops(program: IRModule | PrimFunc | Stmt) -> float:
    """The number of arithmetic operations on values.

    Additions, subtractions, multiplications, divisions, remainders, minima and maxima count one
    each, so that a multiply-add counts two, and one per lane on vectors. Index arithmetic,
    conditions, comparisons, casts, intrinsic functions like `T.exp`, initial values of reductions
    and predicates of blocks count nothing. Of two branches the larger one counts.
    The attribute ``estimated_flops`` of a function overrides the count.

    Raises:
        ArgumentValueError: for loops whose number of iterations is not bounded by a constant.
    """
    if isinstance(program, IRModule):
        functions = [f for f in program.functions.values() if isinstance(f, PrimFunc)]
        return float(sum(estimate_tir_flops(func) for func in functions))
    if isinstance(program, PrimFunc):
        if ESTIMATED in program.attrs:
            return float(program.attrs[ESTIMATED])
        return _of_statement(program.body, Analyzer())
    if isinstance(program, Stmt):
        return _of_statement(program, Analyzer())
    raise ArgumentError(f"estimate_tir_flops: expected a module or a function, got {program!r}")


def _of_statement(stmt: Node, analyzer: Analyzer) -> float:
    if isinstance(stmt, BufferStore):
        return _of_value(stmt.value)
    if isinstance(stmt, Evaluate):
        return _of_value(stmt.value)
    if isinstance(stmt, For):
        times = analyzer.const_int_bound(stmt.extent).max_value
        if times >= 2**31:
            raise ArgumentValueError(
                f"estimate_tir_flops: the extent {stmt.extent} of loop {stmt.loop_var} is not "
                "bounded; give the function the attribute 'estimated_flops'"
            )
        analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
        return max(times, 0) * _of_statement(stmt.body, analyzer)
    if isinstance(stmt, While):
        raise ArgumentValueError(
            "estimate_tir_flops: the number of iterations of `while` is not known; give the "
            "function the attribute 'estimated_flops'"
        )
    if isinstance(stmt, IfThenElse):
        branches = [case for case in (stmt.then_case, stmt.else_case) if case is not None]
        return max(_of_statement(case, analyzer) for case in branches)
    if isinstance(stmt, Block):
        return _of_statement(stmt.body, analyzer)
    return sum(_of_statement(c, analyzer) for c in stmt.children() if isinstance(c, Stmt))


def _of_value(value: Node) -> float:
    if isinstance(value, BufferLoad):
        return 0.0
    if isinstance(value, Select):
        return max(_of_value(value.true_value), _of_value(value.false_value))
    if isinstance(value, Call) and getattr(value.op, "name", "") == "tir.if_then_else":
        return max(_of_value(arg) for arg in value.args[1:])
    own = value.dtype.lanes if isinstance(value, _OPERATIONS) else 0
    return own + sum(_of_value(c) for c in value.children() if isinstance(c, Expr))


@deep_recursion
def calculate_workspace_bytes(func: PrimFunc, workspace_byte_alignment: int = 1) -> int:
    """The most bytes that allocations of `func` hold at a time.

    Args:
        func: a lowered function, in which memory is made by ``T.allocate``.
        workspace_byte_alignment: the size of each allocation is rounded up to a multiple of this.

    Raises:
        ArgumentError: for something else than a function, or a size that is not constant.
    """
    if not isinstance(func, PrimFunc):
        raise ArgumentError(f"calculate_workspace_bytes: expected a PrimFunc, got {func!r}")

    def most(node: Node) -> int:
        inner = max(map(most, node.children()), default=0)
        return (
            inner + _bytes(node, workspace_byte_alignment) if isinstance(node, Allocate) else inner
        )

    return most(func.body)


def _bytes(node: Allocate, alignment: int) -> int:
    size = node.dtype.itemsize
    for extent in node.extents:
        if not isinstance(extent, IntImm):
            raise ArgumentError(
                f"calculate_workspace_bytes: {node.buffer_var.name} has the symbolic size "
                f"{extent!r}"
            )
        size *= extent.value
    return -(-size // alignment) * alignment
