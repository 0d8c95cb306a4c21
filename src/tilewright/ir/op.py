"""Operators that a `Call` can name: intrinsics such as ``tir.exp``.

An `Op` is a name with a few facts that every pass needs. What it computes is in the reference
interpreter; how it is compiled is in each backend's own table.
"""

from __future__ import annotations

import enum
from typing import Final

from tilewright.error import UnknownNameError, did_you_mean
from tilewright.ir.node import Node, attr, node
from tilewright.providers import provider


class CallEffectKind(enum.IntEnum):
    """What evaluating a call may do, ordered from harmless to anything."""

    EXPR_ANNOTATION = 0
    """The value of its argument; the call is only a mark (``likely``)."""
    PURE = 1
    """Depends on the arguments only and changes nothing."""
    READ_STATE = 2
    """Reads memory, changes nothing."""
    UPDATE_STATE = 3
    """Reads and writes memory."""
    SPECIAL_CALL_ARG = 4
    """Only meaningful as the argument of another call (``tvm_access_ptr``)."""
    CONTROL_JUMP = 5
    """Leaves the function (``ret``)."""
    OPAQUE = 6
    """Anything."""

    Pure = PURE
    ReadState = READ_STATE
    UpdateState = UPDATE_STATE
    SpecialCallArg = SPECIAL_CALL_ARG
    ControlJump = CONTROL_JUMP
    Opaque = OPAQUE
    ExprAnnotation = EXPR_ANNOTATION


@node
class Op(Node):
    """An operator; there is one object per name (see `Op.get`)."""

    name: str = attr()
    effect: CallEffectKind = attr(default=CallEffectKind.PURE)
    arity: int = attr(default=-1)
    """Number of arguments, or -1 for any number."""
    vectorizable: bool = attr(default=True)
    """Whether it applies lane by lane to vector arguments."""

    @staticmethod
    def get(name: str) -> Op:
        """The registered operator of that name, such as ``"tir.exp"``."""
        op = _OPS.get(name)
        if op is None and name.startswith("relax."):
            provider("graph operators")  # graphs are loaded on demand
            op = _OPS.get(name)
        if op is None:
            hint = did_you_mean(name, _OPS)
            raise UnknownNameError(f"there is no operator named {name!r}{hint}")
        return op

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all registered operators."""
        return sorted(_OPS)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Op.get, (self.name,)


_OPS: Final[dict[str, Op]] = {}


def register_op(
    name: str,
    effect: CallEffectKind = CallEffectKind.PURE,
    *,
    arity: int = -1,
    vectorizable: bool = True,
) -> Op:
    """Create the operator `name`; the same name may be registered once only."""
    if name in _OPS:
        raise ValueError(f"operator {name!r} is registered twice")
    op = _OPS[name] = Op(name, effect, arity, vectorizable)
    return op
