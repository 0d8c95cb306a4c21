"""The loop of a scan operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ComputeOp, Operation, ScanOp, topological_order
from tilewright.te.tensor import zero_like
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar, ProducerLoad
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, Stmt, seq

if TYPE_CHECKING:
    from tilewright.te.create_prim_func import FunctionBuilder


def scan_body(op: ScanOp) -> list[ComputeOp]:
    """The operations that run once per step: those between the states and the updates.

    Raises:
        ArgumentError: if one of them cannot run step by step.
    """
    states = {tensor.op for tensor in op.state_placeholder}
    inner: dict[Operation, None] = {}
    for candidate in topological_order(op.update):
        if candidate in states:
            continue
        reads = {tensor.op for tensor in candidate.input_tensors}
        if reads & states or any(r in inner for r in reads):
            inner[candidate] = None
    inner.update(dict.fromkeys(tensor.op for tensor in op.update))
    return [_checked(op, candidate, inner) for candidate in inner]


def _checked(op: ScanOp, candidate: Operation, inner: dict[Operation, None]) -> ComputeOp:
    if not isinstance(candidate, ComputeOp) or not candidate.axis:
        raise ArgumentError(
            f"te.scan {op.name!r}: {candidate.name} depends on the state and is not a te.compute "
            "with the step as its first axis"
        )
    step = candidate.axis[0].var
    for expr in candidate.body:
        for node in walk(expr):
            if (
                isinstance(node, ProducerLoad)
                and node.producer.op in inner
                and node.indices[0] is not step
            ):
                raise ArgumentError(
                    f"te.scan {op.name!r}: {candidate.name} reads {node.producer.name} at step "
                    f"{node.indices[0]!r}; only the state can be read at another step than "
                    f"{step.name}"
                )
    return candidate


def scan_loop(op: ScanOp, builder: FunctionBuilder) -> list[Stmt]:
    """Copies of the first steps, and the loop over the other steps."""
    body = [inner for inner in scan_body(op) if not builder.is_elsewhere(inner)]
    updates = set(op.update)
    for index, result in enumerate(op.outputs):
        state = builder.buffers[result]
        builder.buffers[op.update[index]] = builder.buffers[op.state_placeholder[index]] = state
    for inner in body:
        for tensor in inner.outputs:
            if tensor in builder.buffers and tensor not in updates:
                raise ArgumentError(
                    f"te.scan {op.name!r}: {tensor.name} is computed step by step and cannot be a "
                    "parameter"
                )
        builder.allocate(inner)
    copies = [
        _copy(builder.buffers[init], builder.buffers[result], builder.unique_name(f"{t}_init"))
        for init, result, t in zip(op.init, op.outputs, _names(op), strict=True)
    ]
    dom = op.scan_axis.dom
    assert dom is not None
    step = builder.step(op)
    nests = seq(builder.compute(inner, {inner.axis[0]: step}) for inner in body)
    loop = For(step, dom.min, dom.extent, ForKind.SERIAL, builder.in_step(op, nests))
    return [*copies, loop]


def _names(op: ScanOp) -> list[str]:
    return [tensor.name for tensor in op.outputs]


def _copy(source: Buffer, target: Buffer, name: str) -> Stmt:
    """Loops that copy `source` to the start of `target`, which may have fewer steps."""
    loop_vars = [Var(f"i{d}", extent.dtype) for d, extent in enumerate(source.shape)]
    iterators = tuple(
        IterVar(Range.from_min_extent(zero_like(e), e), Var(f"v_i{d}", e.dtype), IterType.DATA_PAR)
        for d, e in enumerate(source.shape)
    )
    point = tuple(iv.var for iv in iterators)
    region = tuple(Range.from_min_extent(index, IntImm(index.dtype, 1)) for index in point)
    store = BufferStore(target, BufferLoad(source, point), point)
    reads, writes = (BufferRegion(source, region),), (BufferRegion(target, region),)
    block = Block(iterators, reads, writes, name, store)
    steps = target.shape[0]
    is_step: Expr = IntImm(BOOL, 1)
    if not Analyzer().can_prove(source.shape[0] <= steps):
        is_step = as_expr(loop_vars[0] < steps)
    body: Stmt = BlockRealize(tuple(loop_vars), is_step, block)
    for loop_var, extent in zip(reversed(loop_vars), reversed(source.shape), strict=True):
        body = For(loop_var, zero_like(extent), extent, ForKind.SERIAL, body)
    return body
