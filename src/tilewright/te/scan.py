"""Recurrences: tensors whose steps depend on earlier steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.te.elementwise import same_extent
from tilewright.te.extern import loop_nest
from tilewright.te.operation import ComputeOp, Operation, PlaceholderOp, ScanOp, topological_order
from tilewright.te.tag import TagScope
from tilewright.te.tensor import Tensor, shape_text
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar, ProducerLoad
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, Stmt, seq
from tilewright.tir.transform.analysis.affine import expand

if TYPE_CHECKING:
    from tilewright.te.create_prim_func import FunctionBuilder


def scan(
    init: Any,
    update: Any,
    state_placeholder: Any,
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors that are computed step by step along their first dimension.

    A running sum of the rows of X::

        state = te.placeholder((m, n))
        init = te.compute((1, n), lambda _, i: X[0, i])
        update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        result = te.scan(init, update, state, inputs=[X])

    Args:
        init: the first steps, of shape ``(k, ...)``; or a list, one per state.
        update: how later steps follow, of the full shape; or a list. Step t may read any earlier
            step of the states.
        state_placeholder: what stands for the states in `update`, of the full shape; or a list.
        inputs: other tensors that `update` reads.
        name: of the operation.
        tag: what kind of computation it is.
        attrs: further data about it.

    Returns:
        A `Tensor` of the full shape, or a tuple of them if a list was given.

    Raises:
        ArgumentError: for different numbers of states, or a state that is not a placeholder.
        ShapeError: for shapes that do not fit together.
    """
    several = isinstance(init, (tuple, list))
    inits, updates, states = (
        tuple(x) if isinstance(x, (tuple, list)) else (x,)
        for x in (init, update, state_placeholder)
    )
    owner = f"te.scan {name!r}"
    if not inits or not len(inits) == len(updates) == len(states):
        raise ArgumentError(
            f"{owner}: {len(inits)} initial tensors, {len(updates)} updates and {len(states)} "
            "states; there must be one of each per state"
        )
    for group in zip(inits, updates, states, strict=True):
        _check_state(owner, *group)
    total = updates[0].shape[0]
    first = cast(total.dtype, inits[0].shape[0])
    axis = IterVar(
        Range.from_min_extent(first, expand(total - first)),
        Var(f"{name}_t", total.dtype),
        IterType.ORDERED,
    )
    op = ScanOp(
        name, TagScope.resolve(tag), attrs, axis, inits, updates, states, tuple(inputs or ())
    )
    return op.outputs if several else op.output(0)


def _check_state(owner: str, init: Tensor, update: Tensor, state: Tensor) -> None:
    for what, tensor in (("init", init), ("update", update), ("state", state)):
        if not isinstance(tensor, Tensor) or tensor.ndim == 0:
            raise ArgumentError(f"{owner}: {what} must be a tensor of at least one dimension")
    if not isinstance(state.op, PlaceholderOp):
        raise ArgumentError(f"{owner}: the state {state.name} must be a te.placeholder")
    dtypes = {init.dtype, update.dtype, state.dtype}
    rest = [tensor.shape[1:] for tensor in (init, update, state)]
    fits = len({len(shape) for shape in rest}) == 1 and same_extent(update.shape[0], state.shape[0])
    fits = fits and all(
        same_extent(a, b) for other in rest[1:] for a, b in zip(rest[0], other, strict=True)
    )
    if not fits or len(dtypes) != 1:
        described = ", ".join(
            f"{t.name} {shape_text(t.shape)} {t.dtype!s}" for t in (init, update, state)
        )
        raise ShapeError(
            f"{owner}: init, update and state must have one dtype and, but for the first extent "
            f"of init, one shape; got {described}"
        )


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
    iterators = tuple(
        IterVar(Range.from_extent(e), Var(f"v_i{d}", e.dtype), IterType.DATA_PAR)
        for d, e in enumerate(source.shape)
    )
    point = tuple(iv.var for iv in iterators)
    region = tuple(Range.from_min_extent(index, IntImm(index.dtype, 1)) for index in point)
    store = BufferStore(target, BufferLoad(source, point), point)
    reads, writes = (BufferRegion(source, region),), (BufferRegion(target, region),)
    block = Block(iterators, reads, writes, name, store)
    steps = target.shape[0]
    is_whole = Analyzer().can_prove(source.shape[0] <= steps)

    def body(place: list[Expr]) -> Stmt:
        is_step = IntImm(BOOL, 1) if is_whole else as_expr(place[0] < steps)
        return BlockRealize(tuple(place), is_step, block)

    return loop_nest(source.shape, body)
