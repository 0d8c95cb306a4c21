"""Exponentials of differences from a maximum, as softmax has them, are at most 1.

What cannot overflow takes fewer operations: ``T.exp(X[i, j] - M[i])`` becomes `T.exp_nonpositive`
of the same where M is the maximum of all X[i, k]; so it does with a positive factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tilewright.ir.expr import Call, Expr, FloatImm, Max, Mul, Sub, Var
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import rewrite, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.expressions import identical
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.analysis.update import choice_of
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, SeqStmt, Stmt
from tilewright.tir.substitute import substitute

EXP: Final = Op.get("tir.exp")
EXP_NONPOSITIVE: Final = Op.get("tir.exp_nonpositive")


def bound_exponents(func: PrimFunc) -> PrimFunc:
    """A function without a schedule, with `T.exp_nonpositive` where a maximum is subtracted."""
    if not any(isinstance(node, Call) and node.op is EXP for node in walk(func.body)):
        return func
    root = func.body
    assert isinstance(root, BlockRealize)
    body, maxima = root.block.body, _Maxima(func)
    if isinstance(body, SeqStmt):
        body = SeqStmt(tuple(maxima.bound(nest) for nest in body.seq))
    else:
        body = maxima.bound(body)
    return func.with_body(root.replace(block=root.block.replace(body=body)))


@dataclass(frozen=True, eq=False)
class _Maximum:
    """What a block has computed: ``target = max(value)`` over the iterators `reduced`.

    Attributes:
        target: an element of the result.
        value: what it is the maximum of, in terms of the same iterators.
        reduced: with the extent of each.
    """

    target: BufferLoad
    value: Expr
    reduced: Mapping[Var, Expr]

    def limits(self, value: Expr, load: BufferLoad) -> bool:
        """Whether `load` is an element of the result, and at least `value`."""
        if load.buffer is not self.target.buffer:
            return False
        place = zip(self.target.indices, load.indices, strict=True)
        pattern = substitute(self.value, {n: index for n, index in place if isinstance(n, Var)})
        counted: dict[Var, Expr] = {}
        for own, other in zip(_loads(pattern), _loads(value), strict=False):
            for index, given, size in zip(
                own.indices, other.indices, own.buffer.shape, strict=False
            ):
                # Each element along that dimension counts, so that the given one does.
                if isinstance(index, Var) and self._covers(index, size):
                    counted[index] = given
        return len(counted) == len(self.reduced) and identical(substitute(pattern, counted), value)

    def _covers(self, index: Var, size: Expr) -> bool:
        return index in self.reduced and structural_equal(self.reduced[index], size)


class _Maxima:
    """The maxima that are known after some blocks of a function.

    Args:
        func: a function without a schedule.
    """

    def __init__(self, func: PrimFunc) -> None:
        self._params = {buffer.data for buffer in func.buffer_map.values()}
        self._params_may_overlap = not func.attrs.get("tir.noalias")
        self._known: list[_Maximum] = []

    def bound(self, nest: Stmt) -> Stmt:
        """The next block with its loops, its exponents bound."""
        block = next(node for node in walk(nest) if isinstance(node, Block))
        written = self._memory(node for node in walk(block) if isinstance(node, BufferStore))
        self._known = [
            maximum
            for maximum in self._known
            if written.isdisjoint(self._memory([maximum.target, *_loads(maximum.value)]))
        ]
        if self._known:
            nest = rewrite(nest, {Call: self._bounded})
        found = _maximum_of(block)
        # What a parameter holds beside the maxima is not known.
        if found is not None and found.target.buffer.data not in self._params:
            self._known.append(found)
        return nest

    def _memory(self, accesses: Iterable[BufferLoad | BufferStore]) -> set[Node | None]:
        """The memory of some accesses; parameters that may overlap count as one, None."""
        memory: set[Node] = {access.buffer.data for access in accesses}
        if not self._params_may_overlap or memory.isdisjoint(self._params):
            return set(memory)
        return {*(memory - self._params), None}

    def _bounded(self, call: Call) -> Expr:
        difference = _without_factor(call.args[0])
        if call.op is not EXP or not isinstance(difference, Sub):
            return call
        value, subtracted = difference.a, difference.b
        if not isinstance(subtracted, BufferLoad):
            return call
        if any(maximum.limits(value, subtracted) for maximum in self._known):
            return call.replace(op=EXP_NONPOSITIVE)
        return call


def _without_factor(exponent: Expr) -> Expr:
    """An exponent, or what a positive constant multiplies in it, which has the same sign."""
    if isinstance(exponent, Mul) and isinstance(exponent.b, FloatImm) and exponent.b.value > 0:
        return exponent.a
    return exponent


def _maximum_of(block: Block) -> _Maximum | None:
    """The maximum that a block computes; None if it does anything else."""
    reduction = match_reduction(block) if block.init is not None else None
    if reduction is None or reduction.condition is not None or len(reduction.targets) != 1:
        return None
    value = reduction.values[0]
    # A value behind a condition may be asked for where there is none.
    if not isinstance(reduction.combiner.result[0], Max) or _has_choices(value):
        return None
    reduced = {
        item.var: item.dom.extent
        for item in block.iter_vars
        if item.iter_type is IterType.COMM_REDUCE and item.dom is not None
    }
    return _Maximum(reduction.targets[0], value, reduced)


def _has_choices(value: Expr) -> bool:
    return any(isinstance(node, Expr) and choice_of(node) for node in walk(value))


def _loads(root: Node) -> Iterator[BufferLoad]:
    return (node for node in walk(root) if isinstance(node, BufferLoad))
