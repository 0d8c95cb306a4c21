"""The table of graph operators: what each takes, what its result is, and how it is computed.

An operator is an entry, which a file per family makes; no other place lists operators. Passes ask
the entry: inference for the struct info of a call, legalisation for a tensor program that computes
it, fusion for its pattern."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from tilewright.arith import Analyzer
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DTypeError,
    ShapeError,
    StructInfoError,
)
from tilewright.ir.convert import EMPTY
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.ir.op import CallEffectKind, Op, register_op
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import (
    ObjectStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

if TYPE_CHECKING:
    from tilewright.relax.block_builder import BlockBuilder


Infer = Callable[["Inference"], StructInfo]
"""From a call, whose arguments have struct info, to that of its result."""

Legalize = Callable[["BlockBuilder", Call], Any]
"""From a call to an expression without the operator, usually ``builder.call_te(topi.add, ...)``."""


class Operator(NamedTuple):
    """An entry of the table.

    Attributes:
        op: what a `Call` names, such as ``relax.add``.
        arguments: the names of the operands, for messages and documentation.
        infer: gives the struct info of a call.
        legalize: gives the tensor program; None for what the compiler itself expands.
        is_pure: whether a call has no effect but its result.
        is_view: whether the result has the elements of the first argument in the same order, as
            that of ``reshape`` has.
    """

    op: Op
    arguments: tuple[str, ...]
    infer: Infer
    legalize: Legalize | None
    is_pure: bool
    is_view: bool


OPERATORS: Final[dict[Op, Operator]] = {}
"""All graph operators."""


def register(
    name: str,
    arguments: tuple[str, ...],
    infer: Infer,
    legalize: Legalize | None = None,
    *,
    is_pure: bool = True,
    is_view: bool = False,
) -> Op:
    """Add the operator ``relax.{name}`` to the table.

    Args:
        name: such as ``"add"`` or ``"nn.conv2d"``.
        arguments: the names of the operands; one that ends in ``*`` stands for any number.
    """
    effect = CallEffectKind.PURE if is_pure else CallEffectKind.OPAQUE
    variable = any(argument.endswith("*") for argument in arguments)
    op = register_op(f"relax.{name}", effect, arity=-1 if variable else len(arguments))
    OPERATORS[op] = Operator(op, arguments, infer, legalize, is_pure, is_view)
    return op


def kernel(function: Callable[..., Any], *attributes: str, name: str | None = None) -> Legalize:
    """Legalisation by one tensor program.

    Args:
        function: from the operands, as tensors, and the values of attributes to the result.
        name: of the tensor program; by default that of the function.
    """

    def legalize(builder: BlockBuilder, expr: Call) -> Any:
        values = [expr.attrs[attribute] for attribute in attributes]
        hint = name or function.__name__
        return builder.call_te(function, *expr.args, *values, primfunc_name_hint=hint)

    return legalize


def named(name: str, doc: str) -> Callable[[Any], Any]:
    """Decorator: the name and the documentation of one of several functions made alike."""

    def decorate(function: Any) -> Any:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return decorate


def call(op: Op, *args: Any, attrs: Mapping[str, Any] | None = None) -> Call:
    """The call of an operator; see `tilewright.relax.expr.as_relax` for what arguments may be."""
    return Call(op, args, attrs or EMPTY)


def operator_of(expr: object) -> Operator | None:
    """The entry of the operator that `expr` calls; None if it is not such a call."""
    return OPERATORS.get(expr.op) if isinstance(expr, Call) and isinstance(expr.op, Op) else None


Info = TypeVar("Info", bound=StructInfo)


class Inference:
    """The inference of the struct info of one call.

    Attributes:
        call: the call; every argument has struct info.
        analyzer: what is known of the symbolic sizes around it.
    """

    def __init__(self, call: Call, analyzer: Analyzer) -> None:
        self.call, self.analyzer = call, analyzer

    def attr(self, name: str) -> object:
        """The attribute `name` of the call; None if it has none."""
        return self.call.attrs.get(name)

    def struct_info(self, position: int) -> StructInfo:
        """The struct info of argument `position`."""
        info = self.call.args[position].struct_info
        assert info is not None, "arguments are normalised before the call that they are for"
        return info

    def tensor(self, position: int) -> TensorStructInfo:
        """The struct info of argument `position`, an array."""
        info = self.struct_info(position)
        if not isinstance(info, TensorStructInfo):
            self.error(f"{self.name_of(position)} must be an array, it is {info!r}")
        return info

    def tensors(self, position: int) -> tuple[TensorStructInfo, ...]:
        """The struct info of the fields of argument `position`, a tuple of arrays."""
        info = self.struct_info(position)
        fields = info.fields if isinstance(info, TupleStructInfo) else ()
        arrays = [field for field in fields if isinstance(field, TensorStructInfo)]
        if not isinstance(info, TupleStructInfo) or len(arrays) != len(fields):
            self.error(f"{self.name_of(position)} must be a tuple of arrays, it is {info!r}")
        return tuple(arrays)

    def same_dtype(self, *positions: int) -> DType | None:
        """The dtype that the arrays at `positions` share; None if none of them is known."""
        known = {p: self.tensor(p).dtype for p in positions if self.tensor(p).dtype is not None}
        if len(set(known.values())) > 1:
            listed = ", ".join(f"{self.name_of(p)} has {d!s}" for p, d in known.items())
            self.error(f"the dtypes differ: {listed}; convert one with astype")
        return next(iter(known.values()), None)

    def axis(self, axis: int, ndim: int) -> int:
        """`axis` counted from the front.

        Raises:
            StructInfoError: if the array has no such axis.
        """
        if not -ndim <= axis < ndim:
            self.error(f"axis {axis} is out of range for {ndim} dimensions")
        return axis % ndim

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether two extents are known to be equal."""
        return self.analyzer.can_prove_equal(a, b)

    def differ(self, a: Expr, b: Expr) -> bool:
        """Whether two extents are known to be different."""
        return self.analyzer.can_prove(a != b)

    @property
    def owner(self) -> str:
        """The operator as users write it."""
        return f"R.{self.call.op.name.removeprefix('relax.')}"  # type: ignore[union-attr]

    def name_of(self, position: int) -> str:
        """The name of argument `position`, for messages."""
        names = OPERATORS[self.call.op].arguments  # type: ignore[index]
        name = names[min(position, len(names) - 1)]
        return f"argument `{name.rstrip('*')}`"

    def error(self, message: str) -> NoReturn:
        """Refuse the call."""
        raise StructInfoError(f"{self.owner}: {message}", self.call.span)


def refusing(infer: Callable[[Inference], Info]) -> Callable[[Inference], Info]:
    """`infer`, in which mistakes that the functions on tensors find are those of the call."""

    @functools.wraps(infer)
    def infer_or_refuse(inference: Inference) -> Info:
        try:
            return infer(inference)
        except StructInfoError:
            raise
        except (ArgumentError, ArgumentValueError, DTypeError, ShapeError) as error:
            raise StructInfoError(str(error), inference.call.span) from None

    return infer_or_refuse


def given_result(sinfo_args: tuple[StructInfo, ...]) -> StructInfo:
    """What the caller says about a result: one value, several, or nothing."""
    if not sinfo_args:
        return ObjectStructInfo()
    return sinfo_args[0] if len(sinfo_args) == 1 else TupleStructInfo(sinfo_args)
