"""What a small program accesses, found by running through all its iterations."""

from __future__ import annotations

import itertools
from collections import defaultdict

from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    Call,
    Cast,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Select,
    Sub,
)
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, IfThenElse, SeqStmt

BINARY = {
    Add: lambda a, b: a + b, Sub: lambda a, b: a - b, Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b, FloorMod: lambda a, b: a % b, Min: min, Max: max,
    LT: lambda a, b: a < b, LE: lambda a, b: a <= b, GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b, EQ: lambda a, b: a == b, And: lambda a, b: a and b,
}  # fmt: skip


def value(expr, env):
    """The value of an integer expression."""
    if isinstance(expr, IntImm):
        return expr.value
    if expr in env:
        return env[expr]
    if type(expr) in BINARY:
        return BINARY[type(expr)](value(expr.a, env), value(expr.b, env))
    if isinstance(expr, Cast):
        return value(expr.value, env)
    if isinstance(expr, Select):
        return value(expr.true_value if value(expr.condition, env) else expr.false_value, env)
    if isinstance(expr, Call):
        return value(expr.args[0], env)
    raise NotImplementedError(expr)


class Accesses:
    """All accesses of a function, in the order in which they are made.

    Attributes:
        of: for each store of the text, by block name and whether it initialises: for each of its
            accesses, in the order of the text with the store first, the elements.
        counts: how often each store is executed.
    """

    def __init__(self, func):
        self.of = defaultdict(lambda: defaultdict(list))
        self.counts = defaultdict(int)
        self._run(func.body, {}, ("", False))

    def _run(self, stmt, env, name):
        if isinstance(stmt, SeqStmt):
            for child in stmt.seq:
                self._run(child, env, name)
        elif isinstance(stmt, For):
            start = value(stmt.min, env)
            for i in range(start, start + value(stmt.extent, env)):
                self._run(stmt.body, {**env, stmt.loop_var: i}, name)
        elif isinstance(stmt, BlockRealize):
            if value(stmt.predicate, env):
                self._block(stmt.block, [value(v, env) for v in stmt.iter_values], env)
        elif isinstance(stmt, IfThenElse):
            chosen = stmt.then_case if value(stmt.condition, env) else stmt.else_case
            if chosen is not None:
                self._run(chosen, env, name)
        else:
            assert isinstance(stmt, BufferStore), stmt
            self._store(stmt, env, name)

    def _block(self, block: Block, values, env):
        inner = {**env, **{v.var: x for v, x in zip(block.iter_vars, values, strict=True)}}
        reducing = [
            x == value(v.dom.min, env)
            for v, x in zip(block.iter_vars, values, strict=True)
            if v.iter_type == 2
        ]
        if block.init is not None and all(reducing):
            self._run(block.init, inner, (block.name_hint, True))
        self._run(block.body, inner, (block.name_hint, False))

    def _store(self, stmt, env, name):
        self.counts[name] += 1
        loads = [node for node in walk(stmt.value) if isinstance(node, BufferLoad)]
        for position, access in enumerate([stmt, *loads]):
            flat = 0
            for index, extent in zip(access.indices, access.buffer.shape, strict=True):
                flat = flat * extent.value + value(index, env)
            self.of[name][position, access.buffer.name].append(flat)


def reached(strides, extents):
    """All sums of multiples of strides."""
    places = itertools.product(*(range(extent) for extent in extents))
    return [sum(x * s for x, s in zip(p, strides, strict=True)) for p in places]
