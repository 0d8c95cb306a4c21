"""Random loop nests that visit every point of a box once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tilewright import tir
from tilewright.ir import DType, Expr, IntImm, Var, const
from tilewright.tir import For, ForKind, Stmt

TRUE = const(True)
INT32 = DType("int32")


class Axis(NamedTuple):
    """A dimension of the box: the variable that stands for it, and its extent."""

    var: Var
    extent: Expr
    value: int
    is_reduce: bool


class Loop(NamedTuple):
    """A loop of the nest."""

    var: Var
    begin: Expr
    extent: Expr
    kind: ForKind


class LoopNest(NamedTuple):
    """Loops, outermost first, and what the axes are in terms of them.

    Attributes:
        loops: outermost first.
        bindings: the value of each axis.
        predicate: which iterations are points of the box.
    """

    loops: list[Loop]
    bindings: list[Expr]
    predicate: Expr

    def around(self, body: Stmt) -> Stmt:
        """The loops with `body` in the middle."""
        for loop in reversed(self.loops):
            body = For(loop.var, loop.begin, loop.extent, loop.kind, body)
        return body


def loop_nest(
    draw: Any, axes: list[Axis], kinds: tuple[ForKind, ...], name: Callable[[str], str]
) -> LoopNest:
    """Loops over `axes`: whole, split, shifted or fused with the next, in a random order.

    Loops over reduced axes are serial or unrolled, so that every order of the others is right.
    """
    groups, predicate = [], TRUE
    bindings: list[Expr] = []
    remaining = list(axes)
    while remaining:
        axis = remaining.pop(0)
        ways = ["whole", "whole", "split", "shift"]
        if remaining and remaining[0].is_reduce == axis.is_reduce:
            ways.append("fuse")
        way = draw(st.sampled_from(ways))
        begin, loops = const(0), []
        if way == "fuse":
            other = remaining.pop(0)
            var = Var(name("fused"), INT32)
            loops = [(var, begin, axis.extent * other.extent, axis.is_reduce)]
            bindings += [tir.floordiv(var, other.extent), tir.floormod(var, other.extent)]
        elif way == "split":
            factor = draw(st.integers(2, 4))
            outer, inner = Var(name("outer"), INT32), Var(name("inner"), INT32)
            loops = [
                (outer, begin, tir.ceildiv(axis.extent, factor), axis.is_reduce),
                (inner, begin, const(factor), axis.is_reduce),
            ]
            bindings.append(outer * factor + inner)
            if isinstance(axis.extent, Var) or axis.value % factor:
                predicate = tir.logical_and(predicate, bindings[-1] < axis.extent)
        else:
            var, first = Var(name("i"), INT32), draw(st.integers(1, 3)) if way == "shift" else 0
            loops = [(var, const(first), axis.extent, axis.is_reduce)]
            bindings.append(var - first)
        groups += loops
    order = draw(st.permutations(groups)) if draw(st.booleans()) else groups
    return LoopNest([_with_kind(draw, loop, kinds) for loop in order], bindings, predicate)


def _with_kind(draw: Any, loop: tuple[Var, Expr, Expr, bool], kinds: tuple[ForKind, ...]) -> Loop:
    var, begin, extent, is_reduce = loop
    allowed = [ForKind.SERIAL]
    is_constant = isinstance(extent, IntImm)
    for kind in kinds:
        needs_constant = kind in (ForKind.VECTORIZED, ForKind.UNROLLED)
        if (kind is ForKind.UNROLLED or not is_reduce) and (is_constant or not needs_constant):
            allowed.append(kind)
    kind = draw(st.sampled_from(allowed)) if draw(st.integers(0, 2)) == 0 else ForKind.SERIAL
    return Loop(var, begin, extent, kind)
