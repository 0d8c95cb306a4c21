"""Expressions of tensor computations that exist before lowering: iterators, loads, reductions."""

from __future__ import annotations

import enum
from typing import Any

from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Node, attr, binds, child, derived, node, use
from tilewright.ir.operators import Operators
from tilewright.tir.buffer import Range


class IterType(enum.IntEnum):
    """What an iteration variable does."""

    DATA_PAR = 0
    """Spatial: its instances are independent."""
    THREAD_INDEX = 1
    """The index of a GPU thread or block."""
    COMM_REDUCE = 2
    """Reduction: instances combine commutatively and associatively."""
    ORDERED = 3
    """A scan: instances run in order."""
    OPAQUE = 4
    """Nothing is known."""
    UNROLLED = 5
    VECTORIZED = 6
    PARALLELIZED = 7
    TENSORIZED = 8

    DataPar = DATA_PAR
    ThreadIndex = THREAD_INDEX
    CommReduce = COMM_REDUCE
    Ordered = ORDERED
    Opaque = OPAQUE


def _named(value: object) -> Any:
    """A new variable for the name of one."""
    return Var(value, INT32) if isinstance(value, str) else value


@node
class IterVar(Operators, Node):
    """An iteration variable with its domain; stands for `var` in expressions."""

    dom: Range | None = child()
    var: Var = binds(convert=_named)
    iter_type: IterType = attr()
    thread_tag: str = attr(default="")

    DataPar = IterType.DATA_PAR
    ThreadIndex = IterType.THREAD_INDEX
    CommReduce = IterType.COMM_REDUCE
    Ordered = IterType.ORDERED
    Opaque = IterType.OPAQUE
    Unrolled = IterType.UNROLLED
    Vectorized = IterType.VECTORIZED
    Parallelized = IterType.PARALLELIZED
    Tensorized = IterType.TENSORIZED

    @property
    def dtype(self) -> DType:
        """The dtype of the variable."""
        return self.var.dtype

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.var.name

    def as_expr(self) -> Expr:
        """The variable."""
        return self.var


@node
class ProducerLoad(Expr):
    """An element of a tensor that is defined by a tensor expression."""

    producer: Any = use()
    """A `te.Tensor`: an object with `name`, `dtype` and `shape`."""
    indices: tuple[Expr, ...] = child()
    dtype: DType = derived("producer.dtype")


@node
class CommReducer(Node):
    """A commutative reduction: `result` combines `lhs` and `rhs`, starting from `identity`.

    All four are tuples of the same length; a reduction of pairs (argmax) has length 2.
    """

    lhs: tuple[Var, ...] = binds()
    rhs: tuple[Var, ...] = binds()
    result: tuple[Expr, ...] = child()
    identity_element: tuple[Expr, ...] = child()


@node
class Reduce(Expr):
    """Component `value_index` of the reduction of `source` over `axis` where `condition` holds."""

    __compare_first__ = ("axis",)

    combiner: CommReducer = child()
    source: tuple[Expr, ...] = child()
    axis: tuple[IterVar, ...] = child()
    condition: Expr = child()
    value_index: int = attr(default=0)
    init: tuple[Expr, ...] = child(default=())
    """Starting values that replace the identity, or empty."""
    dtype: DType = derived("source[value_index].dtype")
