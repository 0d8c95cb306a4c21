"""What each node demands of the dtypes and the number of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
)
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range, access_dtype
from tilewright.tir.stmt import (
    Allocate,
    AssertStmt,
    BlockRealize,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    While,
)


def broken_rules(node: Node) -> Iterable[str]:
    """What is wrong with the dtypes of the parts of `node`, or with how many there are."""
    rule = _RULES.get(node.__class__)
    return () if rule is None else rule(node)


def _same(a: Expr, b: Expr, what: str) -> Iterator[str]:
    if a.dtype is not b.dtype:
        yield f"{what} have different dtypes, {a.dtype!s} and {b.dtype!s}"


def _operands(expr: BinaryExpr) -> Iterable[str]:
    if expr.a.dtype is expr.b.dtype:
        return ()
    return _same(expr.a, expr.b, f"the operands of {type(expr).__name__}")


def _numbers(expr: BinaryExpr) -> Iterable[str]:
    dtype = expr.a.dtype
    if dtype.is_float or dtype.is_integral:
        return _operands(expr)
    return (*_operands(expr), f"the operands of {type(expr).__name__} have dtype {dtype!s}")


def _logic(expr: Any) -> Iterator[str]:
    for operand in expr.children():
        if not operand.dtype.is_bool:
            yield f"an operand of {type(expr).__name__} has dtype {operand.dtype!s}, not bool"
    if isinstance(expr, BinaryExpr):
        yield from _operands(expr)


def _condition(node: Any) -> Iterator[str]:
    if node.condition.dtype != "bool":
        yield f"the condition has dtype {node.condition.dtype!s}, not bool"


def _select(expr: Select) -> Iterator[str]:
    yield from _same(expr.true_value, expr.false_value, "the values of Select")
    condition = expr.condition.dtype
    if not condition.is_bool or condition.lanes not in (1, expr.dtype.lanes):
        yield f"the condition of a Select of {expr.dtype!s} has dtype {condition!s}"


def _cast(expr: Cast) -> Iterator[str]:
    if expr.dtype.lanes != expr.value.dtype.lanes:
        yield f"a cast from {expr.value.dtype!s} to {expr.dtype!s} changes the number of lanes"


def _ramp(expr: Ramp) -> Iterator[str]:
    yield from _same(expr.base, expr.stride, "base and stride of Ramp")
    if not expr.base.dtype.is_scalar_integer:
        yield f"the base of Ramp has dtype {expr.base.dtype!s}, not a scalar integer"


def _broadcast(expr: Broadcast) -> Iterator[str]:
    if expr.value.dtype.is_vector:
        yield f"the value of Broadcast has dtype {expr.value.dtype!s}, not a scalar"


def _shuffle(expr: Shuffle) -> Iterator[str]:
    elements = {vector.dtype.element for vector in expr.vectors}
    if len(elements) > 1:
        yield f"the vectors of Shuffle have different dtypes, {sorted(elements)}"
    total = sum(vector.dtype.lanes for vector in expr.vectors)
    for index in expr.indices:
        if not isinstance(index, IntImm) or not 0 <= index.value < total:
            yield f"{index!r} is not a lane among the {total} of Shuffle"


def _let(node: Let | LetStmt) -> Iterator[str]:
    yield from _same(node.var, node.value, f"{node.var.name} and its value")


def _call(call: Call) -> Iterator[str]:
    if isinstance(call.op, Op) and call.op.arity not in (-1, len(call.args)):
        yield f"{call.op.name} takes {call.op.arity} arguments, got {len(call.args)}"


def _access(buffer: Buffer, indices: tuple[Expr, ...], predicate: Expr | None) -> Iterator[str]:
    if len(indices) != len(buffer.shape):
        yield f"{buffer.name} has {len(buffer.shape)} dimensions, got {len(indices)} indices"
    lanes = max((index.dtype.lanes for index in indices), default=1)
    for index in indices:
        if not index.dtype.is_integral or index.dtype.is_bool:
            yield f"index {index!r} of {buffer.name} has dtype {index.dtype!s}"
        if index.dtype.lanes not in (1, lanes):
            yield f"the indices of {buffer.name} have different numbers of lanes"
    if predicate is not None and (
        not predicate.dtype.is_bool or predicate.dtype.lanes not in (1, lanes)
    ):
        yield f"the predicate of {lanes} lanes of {buffer.name} has dtype {predicate.dtype!s}"


def _load(load: BufferLoad) -> Iterator[str]:
    yield from _access(load.buffer, load.indices, load.predicate)


def _store(store: BufferStore) -> Iterator[str]:
    yield from _access(store.buffer, store.indices, store.predicate)
    expected = access_dtype(store.buffer, store.indices)
    if store.value.dtype is not expected:
        yield f"a value of dtype {store.value.dtype!s} is stored where {expected!s} belongs"


def _region(region: BufferRegion) -> Iterator[str]:
    if len(region.region) != len(region.buffer.shape):
        yield (
            f"{region.buffer.name} has {len(region.buffer.shape)} dimensions, "
            f"got {len(region.region)} ranges"
        )


def _range(item: Range) -> Iterator[str]:
    for expr in (item.min, item.extent):
        if not expr.dtype.is_scalar_integer:
            yield f"a range goes over {expr.dtype!s}, not over scalar integers"


def _loop(loop: For) -> Iterator[str]:
    name, dtype = loop.loop_var.name, loop.loop_var.dtype
    if not dtype.is_scalar_integer:
        yield f"loop variable {name} has dtype {dtype!s}, not a scalar integer"
    for what, expr in (("minimum", loop.min), ("extent", loop.extent)):
        if expr.dtype is not dtype:
            yield f"loop variable {name} is {dtype!s}, its {what} is {expr.dtype!s}"


def _allocation(stmt: Allocate) -> Iterator[str]:
    yield from _condition(stmt)
    if not stmt.buffer_var.dtype.is_handle:
        yield f"{stmt.buffer_var.name} is {stmt.buffer_var.dtype!s}, not a handle"
    for extent in stmt.extents:
        if not extent.dtype.is_scalar_integer:
            yield f"extent {extent!r} of {stmt.buffer_var.name} has dtype {extent.dtype!s}"


def _realize(realize: BlockRealize) -> Iterator[str]:
    block = realize.block
    if len(realize.iter_values) != len(block.iter_vars):
        yield (
            f"block {block.name_hint} has {len(block.iter_vars)} iterators, "
            f"and {len(realize.iter_values)} values are bound"
        )
    if realize.predicate.dtype != "bool":
        yield f"the predicate of {block.name_hint} has dtype {realize.predicate.dtype!s}"
    for iterator, value in zip(block.iter_vars, realize.iter_values, strict=False):
        if iterator.var.dtype is not value.dtype:
            yield (
                f"iterator {iterator.var.name} is {iterator.var.dtype!s}, "
                f"bound to a value of dtype {value.dtype!s}"
            )
        if iterator.dom is None:
            yield f"iterator {iterator.var.name} has no domain"
        elif iterator.dom.extent.dtype is not iterator.var.dtype:
            yield (
                f"iterator {iterator.var.name} is {iterator.var.dtype!s}, "
                f"its domain {iterator.dom.extent.dtype!s}"
            )


def _buffer(buffer: Buffer) -> Iterator[str]:
    if buffer.strides and len(buffer.strides) != len(buffer.shape):
        yield (
            f"buffer {buffer.name} has {len(buffer.shape)} dimensions "
            f"and {len(buffer.strides)} strides"
        )
    if not buffer.data.dtype.is_handle:
        yield f"the pointer of {buffer.name} has dtype {buffer.data.dtype!s}, not handle"
    for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset):
        if not expr.dtype.is_scalar_integer:
            yield f"{expr!r} in the layout of {buffer.name} has dtype {expr.dtype!s}"


_RULES: Final[dict[type[Node], Callable[[Any], Iterable[str]]]] = {
    **dict.fromkeys((Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max), _numbers),
    **dict.fromkeys((EQ, NE, LT, LE, GT, GE), _operands),
    **dict.fromkeys((And, Or, Not), _logic),
    **dict.fromkeys((IfThenElse, While, AssertStmt), _condition),
    Select: _select,
    Cast: _cast,
    Ramp: _ramp,
    Broadcast: _broadcast,
    Shuffle: _shuffle,
    Let: _let,
    LetStmt: _let,
    Call: _call,
    BufferLoad: _load,
    BufferStore: _store,
    BufferRegion: _region,
    Range: _range,
    For: _loop,
    Allocate: _allocation,
    BlockRealize: _realize,
    Buffer: _buffer,
}
