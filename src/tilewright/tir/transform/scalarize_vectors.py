"""Vector expressions become loops over their lanes, for backends whose language has no vectors.

A store of a vector happens after all lanes of its value are known, so a value that reads the buffer
elsewhere than where it writes goes through a small local array.
"""

from __future__ import annotations

from typing import Any

from tilewright.error import CodegenError
from tilewright.ir.arithmetic import logical_or
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import (
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    Expr,
    IntImm,
    Let,
    Not,
    Ramp,
    Select,
    Shuffle,
    Var,
)
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import ZERO, Buffer, BufferLoad, decl_buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.op import if_then_else
from tilewright.tir.stmt import (
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    seq,
)
from tilewright.tir.transform.analysis.affine import occurs
from tilewright.tir.transform.building.allocations import allocation

TRUE = const(True)


class Lanes:
    """Takes one lane out of vector expressions."""

    def __init__(self, scalars: Scalarizer, lane: Expr, bound: dict[Var, Expr]) -> None:
        self._scalars = scalars
        self._lane = lane
        self._bound = bound

    def __call__(self, expr: Any) -> Any:
        """This lane of `expr`; a scalar stays what it is."""
        if expr.dtype.lanes == 1:
            return self._scalars(expr)
        match expr:
            case BinaryExpr():
                return type(expr)(self(expr.a), self(expr.b))
            case Var():
                return self._variable(expr)
            case Ramp():
                return self._ramp(expr)
            case Broadcast():
                return self._scalars(expr.value)
            case Cast():
                return Cast(expr.dtype.element, self(expr.value))
            case Not():
                return Not(self(expr.a))
            case Select():
                return Select(self(expr.condition), self(expr.true_value), self(expr.false_value))
            case Let():
                return self._let(expr)
            case Shuffle():
                return self.shuffle(expr)
            case BufferLoad():
                return self._load(expr)
            case Call():
                return self._call(expr)
            case _:
                raise CodegenError(f"cannot take the lanes of `{expr!r}` one by one")

    def _variable(self, var: Var) -> Expr:
        found = self._bound.get(var)
        if found is not None:
            return found
        vector = self._scalars.vectors.get(var)
        if vector is not None:
            return self(vector)
        array = self._scalars.arrays[var]
        return BufferLoad(array, (self._lane,))

    def _ramp(self, ramp: Ramp) -> Expr:
        stride = self._scalars(ramp.stride)
        return self._scalars(ramp.base) + self._lane.astype(stride.dtype) * stride

    def _let(self, let: Let) -> Expr:
        if let.var.dtype.lanes == 1:
            return Let(let.var, self._scalars(let.value), self(let.body))
        var = Var(let.var.name, let.var.dtype.element)
        self._bound[let.var] = var
        self._scalars.vectors[let.var] = let.value  # a shuffle may take other lanes of it
        body = self(let.body)
        return Let(var, self(let.value), body) if occurs(var, body) else body

    def shuffle(self, shuffle: Shuffle) -> Expr:
        sources = [(v, lane) for v in shuffle.vectors for lane in range(v.dtype.lanes)]
        chosen = [sources[int(index)] for index in shuffle.indices]  # type: ignore[call-overload]
        if isinstance(self._lane, IntImm):
            return self._scalars.lane(*chosen[self._lane.value])
        result = self._scalars.lane(*chosen[-1])
        for position in reversed(range(len(chosen) - 1)):
            here = self._lane.equal(position)
            result = Select(here, self._scalars.lane(*chosen[position]), result)
        return result

    def _load(self, load: BufferLoad) -> Expr:
        indices = tuple(map(self, load.indices))
        result = BufferLoad(load.buffer, indices)
        if load.predicate is None:
            return result
        return if_then_else(self(load.predicate), result, const(0, result.dtype))

    def _call(self, call: Call) -> Expr:
        if call.op is _IF:
            condition, yes, no = call.args
            return Call(call.dtype.element, call.op, (self(condition), self(yes), self(no)))
        if not getattr(call.op, "vectorizable", False):
            raise CodegenError(f"cannot take the lanes of `{call!r}` one by one")
        return Call(call.dtype.element, call.op, tuple(map(self, call.args)))


class Scalarizer(Rewriter):
    """Rewrites statements, and the scalar expressions that look into vectors."""

    def __init__(self) -> None:
        self.arrays: dict[Var, Buffer] = {}
        self.vectors: dict[Var, Expr] = {}

    def lane(self, vector: Expr, lane: int) -> Expr:
        """Lane number `lane` of `vector`."""
        return Lanes(self, const(lane, INT32), {})(vector)

    def Shuffle(self, shuffle: Shuffle) -> Expr:
        return Lanes(self, ZERO, {}).shuffle(shuffle)

    def Let(self, let: Let) -> Expr:
        if let.var.dtype.lanes == 1:
            return let.map_children(self)
        # A scalar that is made of the lanes of a vector computes each of them where it needs it.
        self.vectors[let.var] = let.value
        return self(let.body)

    def Call(self, call: Call) -> Expr:
        if call.op is not _ANY_LANE or call.args[0].dtype.lanes == 1:
            return call.map_children(self)
        mask = call.args[0]
        result = self.lane(mask, 0)
        for lane in range(1, mask.dtype.lanes):
            result = logical_or(result, self.lane(mask, lane))
        return result

    def BufferStore(self, store: BufferStore) -> Stmt:
        lanes = store.value.dtype.lanes
        if lanes == 1:
            return store.map_children(self)
        if not reads_elsewhere(store):
            return self._loop(lanes, lambda at: self._store(store, at, at(store.value)))
        array = _array(f"{store.buffer.name}_lanes", store.value)
        fill = self._loop(lanes, lambda at: BufferStore(array, at(store.value), (at.lane_index,)))
        write = self._loop(
            lanes, lambda at: self._store(store, at, BufferLoad(array, (at.lane_index,)))
        )
        return allocation(seq(fill, write), array)

    def _store(self, store: BufferStore, at: _LoopLanes, value: Expr) -> Stmt:
        result = BufferStore(store.buffer, value, tuple(map(at, store.indices)), None, store.span)
        return result if store.predicate is None else IfThenElse(at(store.predicate), result)

    def _loop(self, lanes: int, body: Any) -> Stmt:
        lane = Var("lane", INT32)
        at = _LoopLanes(self, lane, {})
        return For(lane, ZERO, const(lanes, INT32), ForKind.SERIAL, body(at))

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        lanes = stmt.var.dtype.lanes
        if lanes == 1:
            return stmt.map_children(self)
        array = self.arrays[stmt.var] = _array(stmt.var.name, stmt.value)
        fill = self._loop(lanes, lambda at: BufferStore(array, at(stmt.value), (at.lane_index,)))
        return allocation(seq(fill, self(stmt.body)), array)


class _LoopLanes(Lanes):
    """The lanes that a loop goes through."""

    @property
    def lane_index(self) -> Expr:
        """The loop variable."""
        return self._lane


def _array(name: str, value: Expr) -> Buffer:
    return decl_buffer((value.dtype.lanes,), value.dtype.element, name, scope="local")


def reads_elsewhere(store: BufferStore) -> bool:
    """Whether the value reads memory that an earlier lane of the store may have changed."""
    for node in walk(store.value):
        if isinstance(node, BufferLoad) and node.buffer.data is store.buffer.data:
            if len(node.indices) != len(store.indices):
                return True
            pairs = zip(node.indices, store.indices, strict=True)
            if not all(a is b or structural_equal(a, b) for a, b in pairs):
                return True
    return False


def scalarize_vectors(func: PrimFunc) -> PrimFunc:
    """Replace the vectors of `func`, which has flat buffers, by loops over their lanes."""
    return func.with_body(Scalarizer()(func.body))


_IF = Op.get("tir.if_then_else")
_ANY_LANE = Op.get("tir.any_lane")
