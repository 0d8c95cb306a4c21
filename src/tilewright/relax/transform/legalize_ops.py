"""Legalisation: graph operators become calls of tensor programs, equal calls share one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, FloatImm, IntImm, StringImm
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import (
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    PrimValue,
    ShapeExpr,
    Tuple,
    Var,
)
from tilewright.relax.expr import StringImm as Text
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.op.table import Legalize, operator_of
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.transform.function_pass import ModuleMutator


class _DiffersFromAllError(Exception):
    """A part of a call that is compared with no other."""


class RepeatedCalls:
    """The tensor programs for calls of operators, which layers of a model repeat.

    Two calls have the same tensor program if the operators, the attributes, the scalars and what is
    known of the arrays are the same.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Call, Call]] = {}
        """A call, which keeps alive what its key mentions, and the call of its tensor program."""

    def legalized(self, call: Call, legalize: Callable[[], Any], steps: Callable[[], int]) -> Any:
        """What stands for a call: that of an earlier one with other arrays, or a new one.

        Args:
            call: the call of an operator.
            legalize: gives what stands for it.
            steps: how many bindings have been made; with others, nothing is kept for later.
        """
        try:
            key = _call_key(call)
        except _DiffersFromAllError:
            return legalize()
        known = self._known.get(key)
        if known is not None:
            return _with_arrays_of(call, *known)
        before, result = steps(), legalize()
        if steps() == before and _reads_only(result, call):
            self._known[key] = call, result
        return result


def _arrays_of(value: Any) -> list[Any]:
    """The operands of a call, or of a tuple, in order."""
    parts = value.args if isinstance(value, Call) else value.fields
    return [x for part in parts for x in (_arrays_of(part) if isinstance(part, Tuple) else [part])]


def _reads_only(result: Any, call: Call) -> bool:
    """Whether `result` calls a tensor program with operands of `call`."""
    if not isinstance(result, Call) or result.op is not CALL_TIR:
        return False
    operands = result.args[1]
    given = set(map(id, _arrays_of(call)))
    return isinstance(operands, Tuple) and all(id(field) in given for field in operands.fields)


def _with_arrays_of(call: Call, earlier: Call, result: Call) -> Call:
    """The result for an earlier call, with the operands of another one."""
    pairs = zip(_arrays_of(earlier), _arrays_of(call), strict=True)
    new = {id(old): value for old, value in pairs}
    name, operands, *sizes = result.args
    fields = [new[id(field)] for field in operands.fields]  # type: ignore[attr-defined]
    return Call(CALL_TIR, (name, Tuple(fields), *sizes), result.attrs, result.sinfo_args)


# --- keys ------------------------------------------------------------------------------------


def _call_key(call: Call) -> Hashable:
    positions: dict[int, int] = {}
    return (
        id(call.op),
        *(_operand_key(argument, positions) for argument in call.args),
        _attribute_key(call.attrs),
        *map(_info_key, call.sinfo_args),
    )


def _operand_key(operand: Any, positions: dict[int, int]) -> Hashable:
    """Facts about an operand, and the position of its first occurrence."""
    if isinstance(operand, Tuple):
        return tuple(_operand_key(field, positions) for field in operand.fields)
    if isinstance(operand, ShapeExpr):
        return tuple(map(_scalar_key, operand.values))
    if isinstance(operand, PrimValue):
        return _scalar_key(operand.value)
    if isinstance(operand, (Text, DataTypeImm)):
        return str(operand.value)
    if isinstance(operand, Constant) and not operand.data.shape:  # it may become a number
        return str(operand.data.dtype), operand.data.tobytes()
    if operand.__class__ not in (Var, DataflowVar, Constant):
        raise _DiffersFromAllError
    first = positions.setdefault(id(operand), len(positions))
    return isinstance(operand, Constant), first, _info_key(operand.struct_info)


def _info_key(info: StructInfo | None) -> Hashable:
    if isinstance(info, TensorStructInfo) and info.vdevice is None and info.extents is not None:
        return info.dtype, *map(_scalar_key, info.extents)
    if isinstance(info, TupleStructInfo):
        return tuple(map(_info_key, info.fields))
    if isinstance(info, ShapeStructInfo) and info.values is not None:
        return "shape", *map(_scalar_key, info.values)
    if isinstance(info, PrimStructInfo) and info.value is not None:
        return "scalar", _scalar_key(info.value)
    raise _DiffersFromAllError


_IMMEDIATE: Final = (IntImm, FloatImm, StringImm)


def _scalar_key(expr: Expr) -> Hashable:
    """A number by its value, a size or an expression by itself."""
    if isinstance(expr, _IMMEDIATE):
        return expr.dtype, repr(expr.value)  # 0.0 is not -0.0
    return "size" if isinstance(expr, Size) else "expression", id(expr)


def _attribute_key(value: Any) -> Hashable:
    if value is None or isinstance(value, (str, bool, int, float, DType)):
        return type(value).__name__, repr(value)
    if isinstance(value, Expr):
        return _scalar_key(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_attribute_key, value))
    if isinstance(value, Mapping):
        return tuple((str(name), _attribute_key(item)) for name, item in value.items())
    raise _DiffersFromAllError


class LegalizeOps(ModulePass):
    """Replace operators by calls of tensor programs that compute them.

    The tensor programs are added to the module; equal ones are shared::

        before:  lv = R.add(x, y)
        after:   lv = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((n, 4), dtype="float32"))

    An operator stays where the rank or the dtype of an argument is not known.

    Args:
        customize_legalize_map: by operator, or its name, a function ``(builder, call) -> expr``
            that is taken instead of the one of the operator.
        enable_warning: whether to warn of operators that stay.
    """

    def __init__(
        self,
        customize_legalize_map: Mapping[str | Op, Legalize] | None = None,
        enable_warning: bool = False,
    ) -> None:
        if not isinstance(customize_legalize_map, Mapping | None):
            raise ArgumentError(
                "LegalizeOps: customize_legalize_map is a dictionary from names of operators to "
                f"functions, got a {type(customize_legalize_map).__name__}"
            )
        self._own = {
            name if isinstance(name, Op) else Op.get(name): _function(name, own)
            for name, own in (customize_legalize_map or {}).items()
        }
        self._enable_warning = enable_warning

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Legalization(mod, self._own, self._enable_warning).module()


def _function(name: str | Op, own: Any) -> Callable[..., Any]:
    if not callable(own):
        raise ArgumentError(f"customize_legalize_map: {name!r} needs a function, got {own!r}")
    return own


class _Legalization(ModuleMutator):
    def __init__(self, mod: IRModule, own: Mapping[Op, Legalize], enable_warning: bool) -> None:
        super().__init__(mod)
        self._own, self._enable_warning = own, enable_warning
        self._repeated = RepeatedCalls()

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        entry = operator_of(call)
        legalize = None if entry is None else self._own.get(entry.op, entry.legalize)
        if entry is None or legalize is None:
            return call
        call = self.builder_.normalize(call)
        unknown = [info for argument in call.args for info in _unknown(argument)]
        if not unknown:
            if legalize is not entry.legalize:  # a user's, which may do anything
                result = legalize(self.builder_, call)
                if result is None:
                    raise ArgumentError(
                        f"customize_legalize_map: the function for {entry.op.name!r} gave None; "
                        "return an expression, or the call to leave it"
                    )
                return result
            scope = self.builder_.function_scope
            return self._repeated.legalized(
                call, lambda: legalize(self.builder_, call), lambda: len(scope.bound)
            )
        if self._enable_warning:
            warnings.warn(
                f"LegalizeOps: {entry.op.name} stays, because of an argument only "
                f"{unknown[0]!r} is known",
                RuntimeWarning,
                stacklevel=2,
            )
        return call


def _unknown(argument: Any) -> list[StructInfo]:
    """Parts of the struct info of an argument that are too vague for a tensor program."""
    return _unknown_parts(getattr(argument, "struct_info", None))


def _unknown_parts(info: StructInfo | None) -> list[StructInfo]:
    """The parts of struct info that do not say enough for a tensor program."""
    if isinstance(info, TupleStructInfo):
        return [part for field in info.fields for part in _unknown_parts(field)]
    if isinstance(info, TensorStructInfo) and (info.ndim == -1 or info.dtype is None):
        return [info]
    return []
