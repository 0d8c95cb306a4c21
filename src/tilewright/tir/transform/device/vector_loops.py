"""Loops that a schedule vectorises, in kernels: statements that access memory 16 bytes at a time.

    for v in vectorized(8):                     for v_0 in range(2):
        A_shared[i * 8 + v] = A[j * 8 + v]  ->      A_shared[i * 8 + v_0 * 4 + (0, 1, 2, 3)] =
                                                        A[j * 8 + v_0 * 4 + (0, 1, 2, 3)]

A condition that holds for some iterations only is asked for all of them at once where that can be
said, and the loop is doubled: as vectors, and one by one. Where it decides which of two values all
iterations store, each has a loop of its own. What has no vector form, and what would access no
vector, stays a loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import GE, LT, Expr, IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.structural import structural_equal
from tilewright.tir.access import collect_accesses
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.control import is_if_then_else
from tilewright.tir.stmt import BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import difference, split
from tilewright.tir.transform.analysis.ranges import conjuncts, without_likely
from tilewright.tir.transform.analysis.tile_guards import guards_in
from tilewright.tir.transform.analysis.vectorization import native_lanes
from tilewright.tir.transform.building.accumulators import lane_reductions
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.lanes import NotVectorizable
from tilewright.tir.transform.building.statements import StatementRewriter
from tilewright.tir.transform.building.unguarded import without_guards
from tilewright.tir.transform.device.vector_accesses import accesses_vectors, is_multiple
from tilewright.tir.transform.vectorize import as_lanes, flattened

VECTOR_BITS: Final = 128
"""The most that a thread loads or stores by one instruction."""


def vectorize_kernels(func: PrimFunc) -> PrimFunc:
    """`func`, whose accesses are flat, without loops of kind VECTORIZED."""
    return func.with_body(_VectorLoops()(func.body))


class _VectorLoops(StatementRewriter):
    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return flattened(stmt.map_children(self))

    def For(self, stmt: For) -> Stmt:
        loop = stmt.map_children(self)
        if loop.kind is not ForKind.VECTORIZED:
            return loop
        branches = _as_branches(loop)
        if branches is not None:
            return branches.map_children(self)
        serial = loop.replace(kind=ForKind.SERIAL)
        accesses = collect_accesses(loop.body)
        if not isinstance(loop.extent, IntImm) or lane_reductions(loop, accesses):
            return serial
        try:
            return _guarded_vectors(loop, serial)
        except NotVectorizable:
            return serial


def _as_branches(loop: For) -> IfThenElse | None:
    """Two loops in place of one that stores the one or the other value in all iterations."""
    store = loop.body
    value = store.value if isinstance(store, BufferStore) else None
    if not isinstance(store, BufferStore) or not is_if_then_else(value):
        return None
    condition, chosen, other = value.args
    parts = [
        _for_first(part, loop) if _is_same(part, loop) else part for part in conjuncts(condition)
    ]
    if loop.loop_var in variables_of(_all_of(parts)):
        return None
    while is_if_then_else(chosen) and structural_equal(chosen.args[0], condition):
        chosen = chosen.args[1]
    return IfThenElse(
        _all_of(parts),
        loop.replace(body=store.replace(value=chosen)),
        Iteration({})(loop.replace(body=store.replace(value=other))),
    )


def _guarded_vectors(loop: For, serial: For) -> Stmt:
    """The vectors of `loop`, and `serial` where a condition holds for some iterations only."""
    guards = [guard for guard in guards_in(loop) if loop.loop_var in variables_of(guard.part)]
    same = {
        id(guard.part): _for_first(guard.part, loop)
        for guard in guards
        if _is_same(guard.part, loop)
    }
    loop = loop.replace(body=_Conditions(same)(loop.body))
    some = [guard for guard in guards if id(guard.part) not in same]
    vectors = _vectors(without_guards(loop, some))
    if not accesses_vectors(vectors):
        return serial
    if not some:
        return vectors
    return IfThenElse(_all_of(guard.always for guard in some), vectors, Iteration({})(serial))


def _is_same(part: Expr, loop: For) -> bool:
    """Whether a condition holds for all iterations or for none, as `4 * i + v < 32` for 4."""
    if loop.loop_var not in variables_of(part):
        return True
    condition = without_likely(part)
    if not isinstance(condition, (LT, GE)) or not isinstance(loop.extent, IntImm):
        return False
    parts = split(difference(condition.a, condition.b), loop.loop_var)
    if parts is None or not parts[0].is_constant() or parts[0].constant != 1:
        return False
    return (
        isinstance(loop.min, IntImm)
        and loop.min.value == 0
        and is_multiple(parts[1], loop.extent.value)
    )


def _for_first(condition: Expr, loop: For) -> Expr:
    return Iteration({loop.loop_var: loop.min})(condition)


def _all_of(conditions: Iterable[Expr]) -> Expr:
    found: list[Expr] = []
    for condition in conditions:
        if not any(structural_equal(condition, other) for other in found):
            found.append(condition)
    result = found[0]
    for condition in found[1:]:
        result = logical_and(result, condition)
    return result


class _Conditions(Rewriter):
    """Replaces conditions, which are nodes with the given identities."""

    def __init__(self, others: dict[int, Expr]) -> None:
        self._others = others

    def __call__(self, node: Node) -> Node:
        other = self._others.get(id(node))
        return super().__call__(node) if other is None else other


def _vectors(loop: Stmt) -> Stmt:
    """A loop over vectors in place of one over lanes, and the rest.

    Raises:
        NotVectorizable: if the iterations depend on each other, or for a body without vector form.
    """
    assert isinstance(loop, For)
    assert isinstance(loop.extent, IntImm)
    lanes = loop.extent.value
    width = native_lanes(loop, VECTOR_BITS)
    count, rest = divmod(lanes, width)
    if count <= 1:
        return as_lanes(loop, lanes, width)
    number = Var(f"{loop.loop_var.name}_vector", loop.loop_var.dtype)
    one = as_lanes(loop.replace(min=as_expr(loop.min + number * width)), width, width)
    zero, extent = const(0, number.dtype), const(count, number.dtype)
    vectors = For(number, zero, extent, ForKind.SERIAL, one)
    if not rest:
        return vectors
    remaining = loop.replace(min=as_expr(loop.min + count * width))
    return seq(vectors, as_lanes(Iteration({})(remaining), rest, width))
