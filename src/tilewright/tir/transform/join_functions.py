"""Several tensor programs, called one after the other, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import LoweringError
from tilewright.ir.convert import Attributes, cast
from tilewright.ir.dtype import BOOL, HANDLE
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.unique_names import UniqueNames
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.stmt import Block, BlockRealize, seq
from tilewright.tir.substitute import substitute


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

    Buffers of the calls that are not parameters become buffers of the function::

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
            continue
        pattern = func.buffer_map.get(param)
        if pattern is None or pattern.dtype is not arg.dtype or pattern.ndim != arg.ndim:
            raise LoweringError(f"{name}: {arg!r} does not fit parameter {param.name}")
        buffers[pattern] = arg
        variables[pattern.data] = arg.data
    _check_extents(name, buffers, variables)
    return variables, buffers


def _check_extents(name: str, buffers: Mapping[Buffer, Buffer], variables: dict[Var, Expr]) -> None:
    """Let symbolic sizes take the extents of the arguments, and check that all extents fit.

    What cannot be proved is refused: a joined function does not ask again.
    """
    extents = [
        (pattern, expected, cast(expected.dtype, extent))
        for pattern, buffer in buffers.items()
        for expected, extent in zip(pattern.shape, buffer.shape, strict=True)
    ]
    for _, expected, extent in extents:
        if isinstance(expected, Var):
            variables.setdefault(expected, extent)
    analyzer = Analyzer()
    for pattern, expected, extent in extents:
        value = variables.get(expected) if isinstance(expected, Var) else expected
        if value is extent or (isinstance(value, IntImm) and is_const_int(extent, value.value)):
            continue
        if not analyzer.can_prove_equal(substitute(expected, variables), extent):
            raise LoweringError(f"{name}: {extent!r} does not fit an extent of {pattern.name}")
