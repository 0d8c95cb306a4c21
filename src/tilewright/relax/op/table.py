"""The table of graph operators: what each takes, what its result is, and how it is computed.

An operator is an entry, which a file per family makes; no other place lists operators. Passes ask
the entry: inference for the struct info of a call, legalisation for a tensor program that computes
it, fusion for its pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tilewright.ir.attributes import EMPTY
from tilewright.ir.op import CallEffectKind, Op, register_op
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import StructInfo

if TYPE_CHECKING:
    from tilewright.relax.block_builder import BlockBuilder
    from tilewright.relax.op.inference import Inference

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
        infer: gives the struct info of a call.
        legalize: gives the tensor program.
        is_pure: whether a call has no effect but its result.
        is_view: whether the result has the elements of the first argument in the same order.
    """
    effect = CallEffectKind.PURE if is_pure else CallEffectKind.OPAQUE
    variable = any(argument.endswith("*") for argument in arguments)
    op = register_op(f"relax.{name}", effect, arity=-1 if variable else len(arguments))
    OPERATORS[op] = Operator(op, arguments, infer, legalize, is_pure, is_view)
    return op


def call(op: Op, *args: Any, attrs: Mapping[str, Any] | None = None) -> Call:
    """The call of an operator; see `tilewright.relax.expr.as_relax` for what arguments may be."""
    return Call(op, args, attrs or EMPTY)


def operator_of(expr: object) -> Operator | None:
    """The entry of the operator that `expr` calls; None if it is no such call."""
    return OPERATORS.get(expr.op) if isinstance(expr, Call) and isinstance(expr.op, Op) else None
