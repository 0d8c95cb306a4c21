"""From a graph of tensors to a tensor program made of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.convert import Attributes, attributes
from tilewright.ir.dtype import BOOL, HANDLE, DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.unique_names import UniqueNames
from tilewright.te.block import BlockBuilder
from tilewright.te.extern import buffer_for, extern_block
from tilewright.te.operation import (
    ComputeOp,
    ExternOp,
    Operation,
    PlaceholderOp,
    ScanOp,
    topological_order,
)
from tilewright.te.scan import scan_body, scan_loop
from tilewright.te.tensor import Tensor, shape_text
from tilewright.tir.buffer import ZERO, Buffer, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind, Stmt, seq
from tilewright.tir.substitute import variables_of

TRUE = IntImm(BOOL, 1)


class FunctionBuilder:
    """Collects parameters, intermediate buffers and statements of a function.

    Subclasses decide by `compute` how the loops of an operation look. Messages name the `caller`,
    the function that the user called.
    """

    def __init__(
        self, caller: str, args: Sequence[Any], binds: dict[Tensor, Buffer] | None = None
    ) -> None:
        self.caller = caller
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.buffers: dict[Tensor, Buffer] = {}
        self.allocated: list[Buffer] = []
        self.sizes: dict[Var, None] = {}
        self._names = UniqueNames()
        for position, arg in enumerate(args):
            self._add_parameter(position, arg, binds or {})

    def _add_parameter(self, position: int, arg: Any, binds: dict[Tensor, Buffer]) -> None:
        if isinstance(arg, Var):
            if any(param is arg for param in self.params):
                raise ArgumentError(f"{self.caller}: parameter {arg.name} is listed twice")
            self.params.append(arg)
            self.sizes[arg] = None
            return
        if not isinstance(arg, Tensor):
            raise ArgumentError(
                f"{self.caller}: parameter {position} is {arg!r}; parameters are tensors and "
                "scalar variables"
            )
        if arg in self.buffers:
            raise ArgumentError(f"{self.caller}: tensor {arg.name} is listed twice")
        buffer = buffer_for(self.caller, arg, binds.get(arg))
        handle = Var(f"var_{buffer.name}", HANDLE)
        self.params.append(handle)
        self.buffer_map[handle] = self.buffers[arg] = buffer
        for expr in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            self.sizes.update(dict.fromkeys(variables_of(expr)))

    def unique_name(self, name: str) -> str:
        """`name`, with a number if a block has that name already."""
        return self._names.unique(name)

    def allocate(self, op: Operation) -> None:
        """Make intermediate buffers for the outputs of `op` that are not parameters."""
        for tensor in op.outputs:
            if tensor not in self.buffers:
                self.check_sizes(tensor)
                self.buffers[tensor] = decl_buffer(tensor.shape, tensor.dtype, tensor.name)
                self.allocated.append(self.buffers[tensor])

    def check_sizes(self, tensor: Tensor) -> None:
        """Require that the extents of a tensor are known."""
        for extent in tensor.shape:
            for var in variables_of(extent):
                if var not in self.sizes:
                    raise ArgumentError(
                        f"{self.caller}: size {var.name} of tensor {tensor.name} "
                        f"{shape_text(tensor.shape)} is in the shape of no parameter; list it as a "
                        "parameter"
                    )

    def statements(self, order: Iterable[Operation]) -> list[Stmt]:
        """The statements of the operations, which are in topological order."""
        operations = list(order)
        inner: set[Operation] = set()
        for op in operations:
            if isinstance(op, ScanOp):
                inner.update(scan_body(op), (t.op for t in op.state_placeholder))
        readers = _readers(operations, inner)
        result: list[Stmt] = []
        for op in operations:
            if op not in inner and not self.is_elsewhere(op):
                result.extend(self.statements_of(op, readers))
        return result

    def is_elsewhere(self, op: Operation) -> bool:
        """Whether `op` is computed inside of the loops of another operation."""
        del op
        return False

    def step(self, op: ScanOp) -> Var:
        """The variable of the loop of a scan."""
        return Var(op.scan_axis.name, op.scan_axis.dtype)

    def in_step(self, op: ScanOp, body: Stmt) -> Stmt:
        """The body of the loop of a scan, with what else is computed in it."""
        del op
        return body

    def statements_of(self, op: Operation, readers: dict[Tensor, Operation]) -> list[Stmt]:
        """The statements of one operation; `readers` names one operation for each tensor."""
        if isinstance(op, PlaceholderOp):
            tensor = op.output(0)
            if tensor not in self.buffers:
                used = f", which {readers[tensor].name} reads," if tensor in readers else ""
                raise ArgumentError(
                    f"{self.caller}: input {op.name}{used} is not among the parameters"
                )
            return []
        self.allocate(op)
        if isinstance(op, ComputeOp):
            return [self.compute(op, {})]
        if isinstance(op, ExternOp):
            return [extern_block(op, self.buffers, self.unique_name(op.name))]
        assert isinstance(op, ScanOp)
        return scan_loop(op, self)

    def compute(self, op: ComputeOp, bound: Mapping[IterVar, Var]) -> Stmt:
        """One loop per axis around the blocks of `op`; axes in `bound` have a loop already."""
        axes = (*op.axis, *op.reduce_axis)
        scanned = dict.fromkeys(bound, IterType.ORDERED)
        builder = BlockBuilder(op, self.buffers, self.sizes, scanned)
        if op.reduction is not None:
            blocks = [builder.whole(self.unique_name(op.name))]
        else:
            blocks = [
                builder.element(self.unique_name(tensor.name), index)
                for index, tensor in enumerate(op.outputs)
            ]
        loop_vars = {axis: Var(axis.name, axis.dtype) for axis in axes} | dict(bound)
        values: tuple[Expr, ...] = tuple(loop_vars.values()) or (ZERO,)
        body = seq(BlockRealize(values, TRUE, block) for block in blocks)
        for axis in reversed(axes):
            if axis not in bound:
                assert axis.dom is not None
                loop_var, dom = loop_vars[axis], axis.dom
                body = For(loop_var, dom.min, dom.extent, ForKind.SERIAL, body)
        return body

    def whole_function(self, operations: Iterable[Operation], name: str) -> PrimFunc:
        """The function `name` that computes some operations, in their order."""
        attrs = attributes({"global_symbol": name, "tir.noalias": True})
        return self.function(self.statements(operations), attrs)

    def function(self, body: list[Stmt], attrs: Attributes) -> PrimFunc:
        """The function, with a root block that holds the intermediate buffers."""
        root = Block((), (), (), "root", seq(body), None, tuple(self.allocated))
        realize = BlockRealize((), TRUE, root)
        return PrimFunc(tuple(self.params), realize, None, self.buffer_map, attrs)


def _readers(operations: list[Operation], inner: set[Operation]) -> dict[Tensor, Operation]:
    """For each tensor, an operation that reads it.

    Raises:
        ArgumentError: if what is computed inside of a scan is read outside of it.
    """
    found: dict[Tensor, Operation] = {}
    for op in operations:
        for tensor in op.input_tensors:
            found.setdefault(tensor, op)
            if tensor.op in inner and op not in inner and not isinstance(op, ScanOp):
                raise ArgumentError(
                    f"{tensor.name} is computed step by step inside of a te.scan, so {op.name} "
                    "cannot read it; read the result of the scan"
                )
    return found


@deep_recursion
def create_prim_func(ops: Any, index_dtype_override: str | None = None) -> PrimFunc:
    """The tensor program that computes some tensors, as blocks that schedules can transform.

    Args:
        ops: the parameters in order: all inputs, the tensors to compute, and scalar variables.
            Tensors in between become buffers of the function.
        index_dtype_override: the integer dtype of all sizes, loops and indices, such as
            ``"int64"``.

    Returns:
        A function named ``main``. Its blocks have the names of the tensors.

    Raises:
        ArgumentError: if an input, or a size that no parameter's shape mentions, is not listed, or
            an expression mentions a variable that is not defined.
    """
    args = list(ops) if isinstance(ops, (tuple, list)) else [ops]
    builder = FunctionBuilder("te.create_prim_func", args)
    order = topological_order([arg for arg in args if isinstance(arg, Tensor)])
    function = builder.whole_function(order, "main")
    if index_dtype_override is None:
        return function
    from tilewright.te.index_dtype import override_index_dtype

    return override_index_dtype(function, DType(index_dtype_override))
