"""Several tensor programs, called one after the other, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.attributes import Attributes
from tilewright.ir.convert import cast
from tilewright.ir.dtype import BOOL, HANDLE
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.unique_names import UniqueNames
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.copying import copied
from tilewright.tir.stmt import Block, BlockRealize, seq


class FunctionCall(NamedTuple):
    """A call of a tensor program.

    Attributes:
        func: the program.
        args: for each parameter the buffer, or the scalar.
    """

    func: PrimFunc
    args: tuple[Buffer | Expr, ...]


def join_functions(
    params: Sequence[Buffer | Var], calls: Sequence[FunctionCall], attrs: Attributes
) -> PrimFunc:
    """The function that does what some calls do, one after the other.

    Buffers of the calls that are no parameters become buffers of the function::

        add(A, B, C); exp(C, D)    ->    def joined(A, B, D):
                                             C = T.alloc_buffer(...)
                                             for i: with block("add"): C[i] = A[i] + B[i]
                                             for i: with block("exp"): D[i] = T.exp(C[i])

    Args:
        params: the parameters: buffers, and scalars.
        calls: the calls; symbolic sizes of their functions take the values of the arguments.
        attrs: the attributes of the function.

    Raises:
        LoweringError: if a function has no root block, or an argument does not fit.
    """
    joined = _Joined(params)
    for call in calls:
        joined.append(call)
    return joined.function(attrs)


class _Joined:
    def __init__(self, params: Sequence[Buffer | Var]) -> None:
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.allocated: dict[Buffer, None] = {}
        self.stages: list[Block] = []
        self._names = UniqueNames()
        for param in params:
            if isinstance(param, Buffer):
                handle = Var(f"var_{param.name}", HANDLE)
                self.buffer_map[handle] = param
                self.params.append(handle)
            else:
                self.params.append(param)
        self._given = set(self.buffer_map.values())

    def append(self, call: FunctionCall) -> None:
        func = call.func
        root = func.body
        if not isinstance(root, BlockRealize) or root.block.iter_vars or root.block.reads:
            name = func.global_symbol or "a function"
            raise LoweringError(f"{name} has no root block, so it cannot be joined with others")
        variables, buffers = arguments_of(call)
        for buffer in buffers.values():
            if buffer not in self._given:
                self.allocated[buffer] = None
        stage = copied(root.block, self._names.unique, variables, buffers, keyed=False)
        self.allocated.update(dict.fromkeys(stage.alloc_buffers))
        self.stages.append(stage)

    def function(self, attrs: Attributes) -> PrimFunc:
        body = seq(stage.body for stage in self.stages)
        root = Block((), (), (), "root", body, None, tuple(self.allocated))
        realize = BlockRealize((), IntImm(BOOL, 1), root)
        return PrimFunc(tuple(self.params), realize, None, self.buffer_map, attrs)


def arguments_of(call: FunctionCall) -> tuple[dict[Var, Expr], dict[Buffer, Buffer]]:
    """What stands for the variables and the buffers of a function in a call.

    Raises:
        LoweringError: if an argument does not fit its parameter.
    """
    func = call.func
    name = func.global_symbol or "the function"
    if len(call.args) != len(func.params):
        raise LoweringError(
            f"{name} takes {len(func.params)} arguments, {len(call.args)} are given"
        )
    variables: dict[Var, Expr] = {}
    buffers: dict[Buffer, Buffer] = {}
    for param, arg in zip(func.params, call.args, strict=True):
        if isinstance(arg, Expr):
            variables[param] = cast(param.dtype, arg)
    for param, arg in zip(func.params, call.args, strict=True):
        if isinstance(arg, Buffer):
            pattern = func.buffer_map.get(param)
            if pattern is None or not _fits(pattern, arg, variables):
                raise LoweringError(f"{name}: {arg!r} does not fit parameter {param.name}")
            buffers[pattern] = arg
            variables[pattern.data] = arg.data
    return variables, buffers


def _fits(pattern: Buffer, buffer: Buffer, variables: dict[Var, Expr]) -> bool:
    """Whether a buffer may stand for `pattern`; symbolic sizes that are new take its extents."""
    if pattern.dtype is not buffer.dtype or len(pattern.shape) != len(buffer.shape):
        return False
    for expected, extent in zip(pattern.shape, buffer.shape, strict=True):
        if isinstance(expected, Var):
            variables.setdefault(expected, cast(expected.dtype, extent))
        elif isinstance(expected, IntImm) and not is_const_int(extent, expected.value):
            return False
    return True
