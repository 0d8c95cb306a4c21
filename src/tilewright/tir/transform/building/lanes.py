"""Expressions over a loop variable become vectors: one lane per iteration.

The variable `i` becomes ``Ramp(base, 1, lanes)``. What does not depend on it stays scalar until it
meets a vector. Indices that are linear in `i` become one `Ramp`, whatever their shape was, so that
contiguous accesses are recognised as such; other indices become gathers and scatters.

Lanes may be masked. Loads under a mask carry it as their predicate, and integer divisions divide by
1 in the lanes that are off, so that nothing is evaluated that the scalar program would not evaluate
and that could fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

from tilewright.ir import arithmetic
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import (
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
)
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import Rewriter, count_nodes, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import affine, split, to_expr
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.building.folding import fold_binary

LARGEST_MASK: Final = 4096
"""Maximum number of nodes of a mask. Each load under a mask repeats it, also the loads in masks of
conditions further inside, so that nested conditions would grow exponentially."""


class NotVectorizable(Exception):  # noqa: N818, it is a control signal of this package
    """A loop body that has no vector form; the argument says why."""


def broadcast(value: Expr, lanes: int) -> Expr:
    """`value` in all lanes; a vector stays as it is."""
    return value if value.dtype.lanes == lanes else Broadcast(value, lanes)


class LaneRewriter(Rewriter):
    """Rewrites expressions of one iteration to those of `lanes` iterations.

    Args:
        var: the loop variable.
        base: its value in the first lane.
        lanes: how many iterations.
        lets: what variables that were bound inside the loop are as vectors.
        private: for memory that each lane has of its own, true; its elements are interleaved.
        mask: the lanes that are on, or None for all.
        some: whether at least one lane is known to be on, so that what is the same for all lanes
            may be loaded as it is.
    """

    def __init__(
        self,
        var: Var,
        base: Expr,
        lanes: int,
        lets: Mapping[Var, Expr] | None = None,
        private: frozenset[Var] = frozenset(),
        mask: Expr | None = None,
        some: bool = False,
    ) -> None:
        self._var, self._base, self._lanes = var, base, lanes
        self._lets = dict(lets or {})
        self._private = private
        self.mask = mask
        self._some = some

    def vector(self, expr: Expr) -> Expr:
        """`expr` as a vector, also where it does not depend on the lane."""
        return broadcast(self(expr), self._lanes)

    def under(self, condition: Expr, *, some: bool = False) -> LaneRewriter:
        """The same lanes, but on only where the vector (or scalar) `condition` holds too.

        With `some`, the caller makes sure that it holds for at least one.
        """
        mask = broadcast(condition, self._lanes)
        if self.mask is not None:
            mask = arithmetic.logical_and(self.mask, mask)
        if count_nodes(mask, LARGEST_MASK + 1) > LARGEST_MASK:
            raise NotVectorizable("the masks of its nested conditions are too large")
        some = some and self.mask is None
        return LaneRewriter(
            self._var, self._base, self._lanes, self._lets, self._private, mask, some
        )

    # --- leaves -----------------------------------------------------------------------------

    def Var(self, var: Var) -> Expr:
        if var is self._var:
            return Ramp(self._base, const(1, var.dtype), self._lanes)
        return self._lets.get(var, var)

    SizeVar = Var

    def Ramp(self, ramp: Ramp) -> Expr:
        return self._inner_vector(ramp)

    def Broadcast(self, value: Broadcast) -> Expr:
        return self._inner_vector(value)

    def Shuffle(self, shuffle: Shuffle) -> Expr:
        return self._inner_vector(shuffle)

    def _inner_vector(self, expr: Any) -> Expr:
        if expr.map_children(self) is not expr:
            raise NotVectorizable("it holds vectors that depend on the loop variable already")
        return expr

    # --- memory -----------------------------------------------------------------------------

    def index(self, data: Var, index: Expr) -> Expr:
        """The index of an access of the memory `data`, as a vector if it depends on the lane."""
        if index.dtype.lanes > 1:
            raise NotVectorizable("it accesses vectors already")
        result = self._linear(index)
        if data in self._private:
            # Element e of lane l is at e * lanes + l.
            scale = const(self._lanes, index.dtype)
            if result.dtype.lanes > 1:
                lane = Ramp(const(0, index.dtype), const(1, index.dtype), self._lanes)
                return as_expr(result * broadcast(scale, self._lanes) + lane)
            return Ramp(as_expr(result * scale), const(1, index.dtype), self._lanes)
        return result

    def _linear(self, index: Expr) -> Expr:
        parts = split(affine(index), self._var)
        if parts is None:
            return self(index)
        coefficient, rest = parts
        start = to_expr(rest, index.dtype)
        if any(var in self._lets for var in variables_of(start)) or self(start) is not start:
            return self(index)
        if coefficient.is_constant() and not coefficient.constant:
            return index
        stride = to_expr(coefficient, index.dtype)
        base = cast(index.dtype, self._base)
        first = to_expr(affine(as_expr(start + base * stride)), index.dtype)
        return Ramp(first, stride, self._lanes)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        index = self.index(load.buffer.data, load.indices[0])
        predicate = None if load.predicate is None else self(load.predicate)
        if load.predicate is not None and predicate is not load.predicate:
            raise NotVectorizable("a masked load depends on the loop variable")
        if index.dtype.lanes == 1:
            if self.mask is None or self._some:
                return load if index is load.indices[0] else load.replace(indices=(index,))
            # With all lanes off the scalar program would not read this element at all.
            index = Broadcast(index, self._lanes)
        if load.buffer.dtype.lanes > 1:
            raise NotVectorizable(f"{load.buffer.name} has vectors as elements")
        return load.replace(indices=(index,), predicate=self.mask)

    # --- operators --------------------------------------------------------------------------

    def _binary(self, node: Any) -> Any:
        a, b = self(node.a), self(node.b)
        if a is node.a and b is node.b:
            return node
        folded = _ramp_arithmetic(node, a, b)
        if folded is not None:
            return folded
        return fold_binary(node, broadcast(a, self._lanes), broadcast(b, self._lanes))

    Add = Sub = Mul = Min = Max = EQ = NE = LT = LE = GT = GE = _binary

    def _division(self, node: Any) -> Any:
        a, b = self(node.a), self(node.b)
        if a is node.a and b is node.b:
            return node
        a, b = broadcast(a, self._lanes), broadcast(b, self._lanes)
        same = isinstance(b, Broadcast) and (self._some or isinstance(b.value, IntImm))
        if self.mask is not None and b.dtype.is_integral and not same:
            b = Select(self.mask, b, const(1, b.dtype))
        return fold_binary(node, a, b)

    FloorDiv = FloorMod = Div = Mod = _division

    def And(self, node: And) -> Expr:
        return self._logical(node, lambda a: a)

    def Or(self, node: Or) -> Expr:
        return self._logical(node, arithmetic.logical_not)

    def _logical(self, node: And | Or, needed: Any) -> Expr:
        """The second operand is evaluated in the lanes in which the first does not decide."""
        a = self(node.a)
        if a is node.a and self(node.b) is node.b:
            return node
        b = self.under(needed(a))(node.b)
        if a.dtype.lanes == 1:
            a = Broadcast(a, self._lanes)
        return fold_binary(node, a, broadcast(b, self._lanes))

    def Not(self, node: Not) -> Expr:
        a = self(node.a)
        return node if a is node.a else arithmetic.logical_not(a)

    def Cast(self, node: Cast) -> Expr:
        value = self(node.value)
        if value is node.value:
            return node
        return Cast(node.dtype.with_lanes(value.dtype.lanes), value)

    def Select(self, node: Select) -> Expr:
        condition = self(node.condition)
        a, b = self(node.true_value), self(node.false_value)
        if condition is node.condition and a is node.true_value and b is node.false_value:
            return node
        lanes = self._lanes
        return Select(broadcast(condition, lanes), broadcast(a, lanes), broadcast(b, lanes))

    def Let(self, node: Let) -> Expr:
        value = self(node.value)
        var = node.var
        if value.dtype is not node.value.dtype:
            var = Var(node.var.name, value.dtype)
            self._lets[node.var] = var
        body = self(node.body)
        if body is node.body and (value is node.value or var is not node.var):
            # A body without the variable needs no vector of values.
            return node if value is node.value else body
        return Let(var, value, body)

    def Call(self, call: Call) -> Expr:
        op = call.op
        if isinstance(op, Op) and op.name == "tir.if_then_else":
            return self._if_then_else(call)
        args = tuple(self(arg) for arg in call.args)
        same = all(new is old for new, old in zip(args, call.args, strict=True))
        if not isinstance(op, Op) or op.effect >= CallEffectKind.READ_STATE:
            name = op.name if isinstance(op, Op) else getattr(op, "name_hint", "a function")
            raise NotVectorizable(f"it calls {name}")
        if same:
            return call
        if op.name == "tir.likely":
            return args[0]
        if not op.vectorizable:
            raise NotVectorizable(f"{op.name} has no vector form")
        vectors = tuple(broadcast(arg, self._lanes) for arg in args)
        return Call(call.dtype.with_lanes(self._lanes), op, vectors)

    def _if_then_else(self, call: Call) -> Expr:
        call = self._branch_first(call)
        condition = self(call.args[0])
        if condition.dtype.lanes == 1:
            a, b = self(call.args[1]), self(call.args[2])
            if a is call.args[1] and b is call.args[2] and condition is call.args[0]:
                return call
            args = (condition, broadcast(a, self._lanes), broadcast(b, self._lanes))
            return Call(call.dtype.with_lanes(self._lanes), call.op, args)
        a = self.under(condition).vector(call.args[1])
        b = self.under(arithmetic.logical_not(condition)).vector(call.args[2])
        return Select(condition, a, b)

    def _branch_first(self, call: Call) -> Call:
        """A branch on those terms of a condition that are the same in all lanes.

        A branch costs less than their part of a mask. The alternative is written twice, so it must
        be a number.
        """
        condition, value, otherwise = call.args
        if not isinstance(otherwise, (IntImm, FloatImm)):
            return call
        same: list[Expr] = []
        others: list[Expr] = []
        for term in conjuncts(condition):
            # What comes after a condition on the lane may be protected by it.
            may_be_first = not others or is_simple(term)
            is_same = may_be_first and self._is_the_same_in_all_lanes(term)
            (same if is_same else others).append(term)
        if not (same and others):
            return call
        inner = call.replace(args=(reduce(And, others), value, otherwise))
        return call.replace(args=(reduce(And, same), inner, otherwise))

    def _is_the_same_in_all_lanes(self, condition: Expr) -> bool:
        """Whether a condition has the same value in all lanes, as far as that is seen at once."""
        used = variables_of(condition)
        varies = self._var in used or any(var in used for var in self._lets)
        return not varies and not any(isinstance(node, BufferLoad) for node in walk(condition))


def _ramp_arithmetic(node: Any, a: Expr, b: Expr) -> Expr | None:
    """Sums of ramps and scalars, and products with scalars, as ramps."""
    kind = node.__class__
    if kind not in (Add, Sub, Mul) or not a.dtype.is_integral:
        return None
    if isinstance(a, Ramp) and b.dtype.lanes == 1:
        stride = a.stride if kind is not Mul else as_expr(a.stride * b)
        return Ramp(fold_binary(node, a.base, b), stride, a.lanes)
    if isinstance(b, Ramp) and a.dtype.lanes == 1:
        stride = b.stride if kind is Add else as_expr(b.stride * (a if kind is Mul else -1))
        return Ramp(fold_binary(node, a, b.base), stride, b.lanes)
    return None
