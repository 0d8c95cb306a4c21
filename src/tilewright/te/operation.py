"""The operations that tensors come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar, ProducerLoad, Reduce
from tilewright.tir.stmt import Stmt


class Operation:
    """Something that produces tensors.

    Attributes:
        name: for printing, and for finding its block.
        tag: what kind of operation it is, for schedules that recognise it.
        attrs: further data about it.
        input_tensors: the tensors that it reads, each once, in the order of their first use.
    """

    __slots__ = ("_outputs", "attrs", "input_tensors", "name", "tag")

    input_tensors: tuple[Tensor, ...]

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        outputs: list[tuple[tuple[Expr, ...], DType]],
        input_tensors: tuple[Tensor, ...] = (),
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"the name of an operation is a string, got {name!r}")
        self.name, self.tag, self.attrs = name, tag, dict(attrs or {})
        self.input_tensors = tuple(dict.fromkeys(input_tensors))
        self._outputs = tuple(Tensor(self, i, *output) for i, output in enumerate(outputs))

    @property
    def num_outputs(self) -> int:
        """Number of tensors that it produces."""
        return len(self._outputs)

    def output(self, index: int) -> Tensor:
        """The tensor number `index` that it produces."""
        if not 0 <= index < len(self._outputs):
            raise ArgumentValueError(
                f"operation {self.name} has {len(self._outputs)} outputs, there is no {index}"
            )
        return self._outputs[index]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """All tensors that it produces."""
        return self._outputs

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class PlaceholderOp(Operation):
    """An input."""

    __slots__ = ()


UNDECLARED_REDUCER: Final = "te.undeclared_reducer"
"""The attribute of an operation whose reducer was read from a program."""


class ComputeOp(Operation):
    """Tensors whose elements are given by an expression of their indices.

    Attributes:
        axis: one iteration variable per dimension.
        body: the expression of each output; for a reduction, components of one `Reduce`.
    """

    __slots__ = ("axis", "body")

    axis: tuple[IterVar, ...]
    body: tuple[Expr, ...]

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        axis: tuple[IterVar, ...],
        body: tuple[Expr, ...],
    ) -> None:
        self.axis, self.body = axis, body
        shape = tuple(iv.dom.extent for iv in axis if iv.dom is not None)
        check_reductions(name, body)
        self._check_domains(name)
        outputs = [(shape, expr.dtype) for expr in body]
        super().__init__(name, tag, attrs, outputs, tensors_read(*body))

    def _check_domains(self, name: str) -> None:
        """Require that the domain of a reduction axis is the same for all elements."""
        axes = {item.var for item in (*self.axis, *self.reduce_axis)}
        for item in self.reduce_axis:
            assert item.dom is not None
            for node in walk(item.dom):
                if isinstance(node, ProducerLoad) or (isinstance(node, Var) and node in axes):
                    axis = item.var.name
                    raise ArgumentError(
                        f"te.compute {name!r}: the domain of reduction axis {axis} depends on "
                        f"`{node!r}`, which differs between elements; reduce over the largest "
                        f"domain, where a condition holds: te.sum(x, axis={axis}, where={axis} < n)"
                    )

    @property
    def declares_reducer(self) -> bool:
        """Whether somebody says that the reducer is commutative and associative."""
        return UNDECLARED_REDUCER not in self.attrs

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The iteration variables that it reduces over."""
        reduction = self.reduction
        return reduction.axis if reduction is not None else ()

    @property
    def reduction(self) -> Reduce | None:
        """The reduction at the root of the first body, if it is one."""
        first = self.body[0]
        return first if isinstance(first, Reduce) else None


class ExternOp(Operation):
    """Tensors computed by a statement over whole buffers.

    Attributes:
        inputs: the tensors that it reads.
        input_placeholders: the buffer that stands for each input in `body`.
        output_placeholders: the buffer that stands for each output.
        body: the statement.
    """

    __slots__ = ("body", "input_placeholders", "inputs", "output_placeholders")

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        inputs: tuple[Tensor, ...],
        input_placeholders: tuple[Buffer, ...],
        output_placeholders: tuple[Buffer, ...],
        body: Stmt,
    ) -> None:
        self.inputs, self.body = inputs, body
        self.input_placeholders = input_placeholders
        self.output_placeholders = output_placeholders
        outputs = [(buffer.shape, buffer.dtype) for buffer in output_placeholders]
        super().__init__(name, tag, attrs, outputs, inputs)


class ScanOp(Operation):
    """States that are computed step by step: ``state[t]`` from ``state[t - 1]``, ....

    Attributes:
        scan_axis: the iteration variable of the steps, from the number of initial steps on.
        init: the first steps of each state.
        update: the remaining steps, of the full shape, computed from `state_placeholder`.
        state_placeholder: what stands for each state in the updates.
        inputs: other tensors that the updates read.
    """

    __slots__ = ("init", "inputs", "scan_axis", "state_placeholder", "update")

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
        scan_axis: IterVar,
        init: tuple[Tensor, ...],
        update: tuple[Tensor, ...],
        state_placeholder: tuple[Tensor, ...],
        inputs: tuple[Tensor, ...],
    ) -> None:
        self.scan_axis, self.init, self.update = scan_axis, init, update
        self.state_placeholder, self.inputs = state_placeholder, inputs
        outputs = [(state.shape, state.dtype) for state in state_placeholder]
        super().__init__(name, tag, attrs, outputs, (*init, *update))


def tensors_read(*roots: Node) -> tuple[Tensor, ...]:
    """The tensors that expressions read, in order of first use, each once."""
    loads = (node for root in roots for node in walk(root) if isinstance(node, ProducerLoad))
    return tuple(dict.fromkeys(load.producer for load in loads))


def check_reductions(name: str, body: tuple[Expr, ...]) -> None:
    """Require that reductions are whole bodies, and outputs components of the same one."""
    first = body[0]
    for index, expr in enumerate(body):
        nested = expr.children() if isinstance(expr, Reduce) else (expr,)
        if any(isinstance(node, Reduce) for part in nested for node in walk(part)):
            raise ArgumentError(
                f"te.compute {name!r}: a reduction must be the whole expression, not a part of "
                f"`{expr!r}`; put it into a te.compute of its own and use the result here"
            )
        if isinstance(expr, Reduce) != isinstance(first, Reduce) or (
            isinstance(expr, Reduce)
            and isinstance(first, Reduce)
            and not (expr.source is first.source and expr.value_index == index)
        ):
            raise ArgumentError(
                f"te.compute {name!r}: the outputs of a reduction must be all components, in "
                "order, of one reduction of a tuple"
            )


def topological_order(roots: tuple[Tensor, ...] | list[Tensor]) -> list[Operation]:
    """All operations that `roots` depend on, each after those whose results it reads."""
    order: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(roots)]
    while stack:
        op, ready = stack.pop()
        if op in order:
            continue
        if ready:
            order[op] = None
            continue
        stack.append((op, True))
        stack.extend((t.op, False) for t in reversed(op.input_tensors))
    return list(order)
