"""Intrinsics of tensors: statements that compute what a tensor expression says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.te.extern import as_statement, buffer_for
from tilewright.te.operation import ComputeOp, Operation, PlaceholderOp
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Stmt


class TensorIntrin:
    """Statements that compute what an operation says; see `decl_tensor_intrin`.

    Attributes:
        name: for messages and for the block that it becomes.
        op: what it computes.
        inputs: the tensors that `op` reads.
        buffers: the buffer of each input, then of each output.
        body: computes the result.
        reduce_init: only starts a reduction; None if there is no such statement.
        reduce_update: continues a reduction; None if there is no such statement.
    """

    _registered: ClassVar[dict[str, TensorIntrin]] = {}

    def __init__(
        self,
        name: str,
        op: ComputeOp,
        buffers: tuple[Buffer, ...],
        body: Stmt | None,
        reduce_init: Stmt | None,
        reduce_update: Stmt | None,
    ) -> None:
        self.name, self.op, self.inputs, self.buffers = name, op, op.input_tensors, buffers
        self.body, self.reduce_init, self.reduce_update = body, reduce_init, reduce_update

    @staticmethod
    def register(name: str, intrin: TensorIntrin, override: bool = False) -> TensorIntrin:
        """Make an intrinsic known by a name, which `Stage.tensorize` and traces as JSON take.

        Args:
            name: the name.
            intrin: from `te.decl_tensor_intrin`.
            override: whether it may replace another one of that name.

        Raises:
            ArgumentError: unless a name and an intrinsic are given.
            ArgumentValueError: for a name that is taken.
        """
        if not isinstance(name, str) or not isinstance(intrin, TensorIntrin):
            raise ArgumentError(
                "te.TensorIntrin.register: expected a name and a te.decl_tensor_intrin, got "
                f"{name!r} and {intrin!r}"
            )
        if TensorIntrin._registered.get(name, intrin) is not intrin and not override:
            raise ArgumentValueError(
                f"te.TensorIntrin.register: there is an intrinsic {name!r} already; give "
                "override=True to replace it"
            )
        TensorIntrin._registered[name] = intrin
        return intrin

    @staticmethod
    def get(name: str) -> TensorIntrin | None:
        """The intrinsic that is registered by that name; None if there is none."""
        return TensorIntrin._registered.get(name)

    @property
    def registered_name(self) -> str | None:
        """A name that it is registered by; None without one."""
        registered = TensorIntrin._registered.items()
        return next((name for name, intrin in registered if intrin is self), None)

    def __repr__(self) -> str:
        return f"TensorIntrin({self.name})"


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Any = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """Declare statements that compute a part of a tensor, for `Stage.tensorize`.

    Args:
        op: what the statements compute, a `te.compute` of inputs.
        fcompute: from two lists of buffers, inputs and outputs, to a statement or a call; or to
            three of them: one for the whole, one that starts a reduction and one that continues
            it. Those that do not exist are None.
        name: of the intrinsic.
        binds: buffers that stand for some of the tensors, to demand a layout.
        scalar_params: not supported.
        default_buffer_params: arguments of `decl_buffer` for the other tensors. Without any, a
            buffer is compact and may start anywhere.

    Raises:
        ArgumentError: for an operation that is not a te.compute of inputs, a buffer that does not
            fit its tensor, or a result of `fcompute` that is neither a statement nor a call.
    """
    owner = f"te.decl_tensor_intrin {name!r}"
    if not isinstance(op, ComputeOp):
        raise ArgumentError(f"{owner}: expected the operation of a te.compute, got {op!r}")
    if scalar_params:
        raise ArgumentError(f"{owner}: scalar parameters are not supported")
    for tensor in op.input_tensors:
        if not isinstance(tensor.op, PlaceholderOp):
            raise ArgumentError(f"{owner}: {op.name} reads {tensor.name}, which is not an input")
    options = {"offset_factor": 1, **(default_buffer_params or {})}
    tensors = (*op.input_tensors, *op.outputs)
    buffers = tuple(buffer_for(owner, t, (binds or {}).get(t), options) for t in tensors)
    count = len(op.input_tensors)
    result = fcompute(list(buffers[:count]), list(buffers[count:]))
    parts = result if isinstance(result, (tuple, list)) else (result, None, None)
    if len(parts) != 3 or all(part is None for part in parts):
        raise ArgumentError(
            f"{owner}: fcompute gives a statement, or three: for the whole, the start and the "
            f"continuation of a reduction; got {result!r}"
        )
    body, start, update = (None if p is None else as_statement(owner, p) for p in parts)
    return TensorIntrin(name, op, buffers, body, start, update)
