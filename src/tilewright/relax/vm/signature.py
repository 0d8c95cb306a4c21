"""The parameters of a graph function, as those of a tensor program: arrays and scalars, no tuples.

A tuple becomes its fields, one after the other, and a shape its extents.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import HANDLE, INT64, DType
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as Scalar
from tilewright.relax.expr import Function
from tilewright.relax.sizes import symbolic_vars_of, upper_bounds_of
from tilewright.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.steps import (
    ArrayValue,
    CheckStep,
    GivenValue,
    Memory,
    MemoryOrigin,
    NotCompilableError,
    ShapeValue,
    TupleValue,
    Value,
)
from tilewright.tir.buffer import Buffer, decl_buffer


@dataclass(eq=False)
class Signature:
    """The flat parameters of a graph function, and what its own parameters are made of.

    Attributes:
        params: variables of the tensor program.
        buffers: the buffers behind those that are arrays.
        values: what each parameter of the graph function is.
        checks: what its scalars have to fulfil.
        sizes: variables that the parameters define.
        of_any_kind: positions of the variables that stand for values of any kind.
        structure: for each parameter of the graph function how it is passed: see `passing_of`.
    """

    params: list[Scalar] = field(default_factory=list)
    buffers: dict[Scalar, Buffer] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    checks: list[CheckStep] = field(default_factory=list)
    sizes: dict[Scalar, None] = field(default_factory=dict)
    of_any_kind: list[int] = field(default_factory=list)
    structure: list[object] = field(default_factory=list)

    def add(self, name: str, info: StructInfo | None) -> Value:
        """Add what a value of the graph consists of."""
        if isinstance(info, TensorStructInfo) and info.dtype is not None and info.ndim >= 0:
            return self._array(name, info, info.dtype)
        if isinstance(info, TupleStructInfo):
            fields = [self.add(f"{name}_{n}", part) for n, part in enumerate(info.fields)]
            return TupleValue(tuple(fields))
        if isinstance(info, ShapeStructInfo) and info.ndim >= 0:
            values = info.values or (None,) * info.ndim
            extents = [self._scalar(f"{name}_{n}", INT64, e) for n, e in enumerate(values)]
            message = f"argument {name}: an extent is %lld, which is negative"
            self.checks += (CheckStep(e >= 0, "ValueError", message, (e,)) for e in extents)
            return ShapeValue(tuple(extents))
        if isinstance(info, PrimStructInfo):
            return self._scalar(name, info.dtype, info.value)
        if isinstance(info, FuncStructInfo):
            raise NotCompilableError(f"{name} is a function")
        param = Scalar(name, HANDLE)
        self.of_any_kind.append(len(self.params))
        self.params.append(param)
        return GivenValue(param)

    def _array(self, name: str, info: TensorStructInfo, dtype: DType) -> ArrayValue:
        extents = info.extents
        if extents is None:
            extents = tuple(Scalar(f"{name}_{n}", INT64) for n in range(info.ndim))
        for extent in extents:
            self.sizes.update(dict.fromkeys(symbolic_vars_of(extent)))
        handle = Scalar(name, HANDLE)
        self.buffers[handle] = decl_buffer(extents, dtype, name)
        memory = Memory(MemoryOrigin.PARAMETER, size_of(extents, dtype), len(self.params))
        self.params.append(handle)
        return ArrayValue(memory, tuple(extents), dtype)

    def _scalar(self, name: str, dtype: DType, value: Expr | None) -> Expr:
        if isinstance(value, Scalar) and not any(value is param for param in self.params):
            param = value
        else:
            param = Scalar(name, dtype)
            if value is not None:
                message = f"argument {name} is %lld, expected %lld"
                self.checks.append(
                    CheckStep(param.equal(value), "ValueError", message, (param, value))
                )
        self.params.append(param)
        self.sizes[param] = None
        return param


def signature_of(function: Function) -> Signature:
    """The flat parameters of a graph function.

    Raises:
        NotCompilableError: if one of them is a function.
    """
    signature = Signature()
    for param in function.params:
        signature.values.append(signature.add(param.name_hint, param.struct_info))
        signature.structure.append(passing_of(param.struct_info))
    for size, bound, message in upper_bounds_of(function.attrs, signature.sizes):
        signature.checks.append(CheckStep(size <= bound, "ValueError", message, (size,)))
    return signature


def passing_of(info: StructInfo | None) -> object:
    """How callers pass a value: None as it is, or a list of how its parts are passed."""
    if isinstance(info, TupleStructInfo):
        return [passing_of(part) for part in info.fields]
    if isinstance(info, ShapeStructInfo) and info.ndim >= 0:
        return [None] * info.ndim
    return None


def size_of(extents: tuple[Expr, ...], dtype: DType) -> Expr:
    """Bytes of a compact array."""
    size: Expr = as_expr(dtype.itemsize, INT64)
    for extent in extents:
        size = size * extent
    return size
