"""The parameters of a graph function, as those of a tensor program: arrays and scalars, no tuples.

A tuple becomes its fields, one after the other, and a shape its extents. Symbolic sizes get their
values from the arguments; other declared extents are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tilewright.arith import Analyzer
from tilewright.error import LoweringError, ShapeError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import HANDLE, INT64, DType
from tilewright.ir.expr import Expr, Var
from tilewright.relax.expr import Function
from tilewright.relax.sizes import size_text, symbolic_vars_of, upper_bounds_of
from tilewright.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.placement import Placement
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
from tilewright.tir.substitute import substitute, variables_of


@dataclass(eq=False)
class Signature:
    """The flat parameters of a graph function, and what its own parameters are made of.

    Attributes:
        values: what each parameter of the graph function is.
        checks: what its scalars have to fulfil.
        of_any_kind: positions of the variables that stand for values of any kind.
        structure: for each parameter of the graph function how it is passed: see `passing_of`.
        on_host: positions of arrays that are on the host, where others are on a device.
    """

    placement: Placement
    params: list[Var] = field(default_factory=list)
    buffers: dict[Var, Buffer] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)
    checks: list[CheckStep] = field(default_factory=list)
    sizes: dict[Var, None] = field(default_factory=dict)
    of_any_kind: list[int] = field(default_factory=list)
    structure: list[object] = field(default_factory=list)
    on_host: list[int] = field(default_factory=list)

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
        param = Var(name, HANDLE)
        self.of_any_kind.append(len(self.params))
        self.params.append(param)
        return GivenValue(param)

    def _array(self, name: str, info: TensorStructInfo, dtype: DType) -> ArrayValue:
        extents = info.extents
        if extents is None:
            extents = tuple(Var(f"{name}_{n}", INT64) for n in range(info.ndim))
        for extent in extents:
            self.sizes.update(dict.fromkeys(symbolic_vars_of(extent)))
        handle = Var(name, HANDLE)
        self.buffers[handle] = decl_buffer(extents, dtype, name)
        on_device = self.placement.is_on_device(info)
        position = len(self.params)
        memory = Memory(
            MemoryOrigin.PARAMETER, size_of(extents, dtype), position, on_device=on_device
        )
        if self.placement.has_device and not on_device:
            self.on_host.append(position)
        self.params.append(handle)
        return ArrayValue(memory, tuple(extents), dtype)

    def _scalar(self, name: str, dtype: DType, value: Expr | None) -> Expr:
        if isinstance(value, Var) and not any(value is param for param in self.params):
            param = value
        else:
            param = Var(name, dtype)
            if value is not None:
                message = f"argument {name} is %lld, expected %lld"
                self.checks.append(
                    CheckStep(param.equal(value), "ValueError", message, (param, value))
                )
        self.params.append(param)
        self.sizes[param] = None
        return param


def signature_of(function: Function, placement: Placement) -> Signature:
    """The flat parameters of a graph function.

    Raises:
        NotCompilableError: if one of them is a function.
    """
    signature = Signature(placement)
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


class SizeMatch:
    """Collects the values of symbolic sizes from pairs of declared and actual sizes.

    Attributes:
        checks: what has to hold for the sizes that fit only for some inputs.
    """

    def __init__(self, analyzer: Analyzer, kind: str = "ValueError") -> None:
        self.values: dict[Var, Expr] = {}
        self.checks: list[CheckStep] = []
        self._analyzer = analyzer
        self._kind = kind
        self._later: list[Callable[[], None]] = []

    def match(self, declared: Expr, actual: Expr, what: str) -> None:
        """A size is declared as one expression, and another one in this call.

        Args:
            declared: an expression of the symbolic sizes.
            actual: an int64 expression of what the caller knows.

        Raises:
            ShapeError: if they are never equal.
        """
        if isinstance(declared, Var) and declared not in self.values:
            self._define(declared, actual, what)
        else:
            self._later.append(lambda: self._compare(declared, actual, what))

    def finish(self) -> None:
        """Compare the sizes that define no variable."""
        for compare in self._later:
            compare()
        self._later = []

    def value_of(self, size: Var, what: str) -> Expr:
        """The value of a symbolic size.

        Raises:
            ShapeError: if no array gives it.
        """
        if size not in self.values:
            raise ShapeError(f"{what}: no argument gives the value of {size.name}")
        return self.values[size]

    def _define(self, size: Var, actual: Expr, what: str) -> None:
        self.values[size] = cast(size.dtype, actual)
        if size.dtype.bits >= 64:
            return
        least, most = const(size.dtype.min_int, INT64), const(size.dtype.max_int, INT64)
        fits = logical_and(actual >= least, actual <= most)
        if not self._analyzer.can_prove(fits):
            message = f"{what} is %lld, no value of {size.name}, an {size.dtype!s}"
            self.checks.append(CheckStep(fits, self._kind, _escaped(message), (actual,)))

    def _compare(self, declared: Expr, actual: Expr, what: str) -> None:
        for size in variables_of(declared):
            self.value_of(size, what)
        expected = self._analyzer.simplify(cast(INT64, substitute(declared, self.values)))
        if self._analyzer.can_prove_equal(expected, actual):
            return
        if self._analyzer.can_prove(expected != actual):
            raise ShapeError(f"{what} is {size_text(actual)}, expected {size_text(expected)}")
        message = f"{_escaped(what)} is %lld, expected %lld"
        if variables_of(declared):
            message += f" ({_escaped(size_text(declared))})"
        condition = expected.equal(actual)
        self.checks.append(CheckStep(condition, self._kind, message, (actual, expected)))


def match_shapes(
    match: SizeMatch, declared: Sequence[Expr], actual: Sequence[Expr], what: str
) -> None:
    """Match the extents of an array.

    Raises:
        ShapeError: if the ranks differ, or an extent never fits.
    """
    if len(declared) != len(actual):
        raise ShapeError(f"{what} has {len(actual)} dimensions, expected {len(declared)}")
    for axis, (expected, extent) in enumerate(zip(declared, actual, strict=True)):
        match.match(expected, extent, f"{what}: shape[{axis}]")


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def match_info(match: SizeMatch, value: Value, info: StructInfo, what: str) -> None:
    """Match a value with struct info.

    Raises:
        LoweringError: if it never fits.
    """
    if isinstance(info, TensorStructInfo) and isinstance(value, ArrayValue):
        require(info.dtype in (None, value.dtype), what, f"dtype {info.dtype}", value.dtype)
        if info.extents is not None:
            match_shapes(match, info.extents, value.extents, what)
        else:
            known = info.ndim in (-1, len(value.extents))
            require(known, what, f"ndim {info.ndim}", len(value.extents))
    elif isinstance(info, ShapeStructInfo) and isinstance(value, ShapeValue):
        if info.values is not None:
            match_shapes(match, info.values, value.extents, what)
        else:
            known = info.ndim in (-1, len(value.extents))
            require(known, what, f"ndim {info.ndim}", len(value.extents))
    elif isinstance(info, TupleStructInfo) and isinstance(value, TupleValue):
        require(
            len(info.fields) == len(value.fields), what, f"{len(info.fields)} fields",
            len(value.fields),
        )  # fmt: skip
        for field, part in zip(value.fields, info.fields, strict=True):
            match_info(match, field, part, what)
    elif isinstance(info, PrimStructInfo) and isinstance(value, Expr):
        if info.value is not None:
            match.match(cast(INT64, info.value), cast(INT64, value), what)
    else:
        raise NotCompilableError(f"{what} changes the kind of a value")


def require(holds: bool, what: str, expected: str, actual: object) -> None:
    """Raise an error of the program unless something holds."""
    if not holds:
        raise LoweringError(f"{what}: expected {expected}, the value has {actual}")


def without_shape(info: TensorStructInfo) -> TensorStructInfo:
    """The rank and the dtype of an array alone."""
    return TensorStructInfo(None, info.dtype, ndim=info.ndim)
