"""The struct info of a call: from an operator's entry, or from the signature of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import StructInfoError
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import Call, ExternFunc
from tilewright.relax.op.table import OPERATORS, Inference, given_result
from tilewright.relax.struct_info import FuncStructInfo, ObjectStructInfo, StructInfo
from tilewright.relax.struct_info_relation import (
    BaseCheckResult,
    instantiated,
    struct_info_base_check,
)
from tilewright.runtime.registry import registered_callable

SignatureOf = Callable[[GlobalVar], "StructInfo | None"]
"""From the name of a function of the module to what is known of it; None if there is none."""


def infer_call(call: Call, analyzer: Analyzer, signature_of: SignatureOf) -> StructInfo:
    """The struct info of the result of a call, whose arguments have struct info.

    Raises:
        StructInfoError: if the arguments do not fit.
    """
    if isinstance(call.op, Op):
        problem = operator_problem(call)
        if problem is not None:
            raise StructInfoError(problem, call.span)
        return OPERATORS[call.op].infer(Inference(call, analyzer))
    if isinstance(call.op, ExternFunc):
        return given_result(call.sinfo_args)
    if isinstance(call.op, GlobalVar):
        info = signature_of(call.op)
        if info is None:
            raise StructInfoError(f"the module has no function {call.op.name_hint!r}", call.span)
    else:
        info = call.op.struct_info
    if isinstance(info, FuncStructInfo):
        return result_of(info, call, analyzer)
    if info is None or isinstance(info, ObjectStructInfo):
        return given_result(call.sinfo_args)
    raise StructInfoError(f"{_callee(call)} is not a function, it is {info!r}", call.span)


def operator_problem(call: Call) -> str | None:
    """Why a call does not call an operator with the right number of operands; None if it does."""
    op: Any = call.op
    entry = OPERATORS.get(op)
    if entry is None:
        return f"{op.name} is not an operator of graphs"
    least = sum(not argument.endswith("*") for argument in entry.arguments)
    if len(call.args) == least or (len(call.args) > least and least < len(entry.arguments)):
        return None
    more = "" if least == len(entry.arguments) else " or more"
    count = "1 operand" if least == 1 and not more else f"{least}{more} operands"
    return f"R.{op.name.removeprefix('relax.')} takes {count}, got {len(call.args)}"


def result_of(signature: FuncStructInfo, call: Call, analyzer: Analyzer) -> StructInfo:
    """What a function returns for the arguments of a call.

    The symbolic sizes of the signature are solved from the arguments; where one cannot be, the
    result tells the rank only.
    """
    if signature.params is None:
        if signature.derive_func is not None:
            return _derived(signature.derive_func, call)
        return given_result(call.sinfo_args) if call.sinfo_args else signature.ret
    if len(call.args) != len(signature.params):
        raise StructInfoError(
            f"{_callee(call)} takes {_counted(len(signature.params))}, got {len(call.args)}",
            call.span,
        )
    arguments = [getattr(argument, "struct_info", None) for argument in call.args]
    infos = [ObjectStructInfo() if info is None else info for info in arguments]
    params, ret = instantiated(signature, infos, analyzer)
    for position, (asked, info) in enumerate(zip(params, infos, strict=True)):
        if struct_info_base_check(asked, info, analyzer) is BaseCheckResult.FAIL_L0:
            raise StructInfoError(
                f"{_callee(call)}: argument {position} must be {asked!r}, it is {info!r}",
                call.span,
            )
    return ret


def _derived(derive: str | Callable[[Call], Any], call: Call) -> StructInfo:
    """What a function says that the result of a call is."""
    function = registered_callable(derive) if isinstance(derive, str) else derive
    if function is None:
        raise StructInfoError(
            f"{_callee(call)}: no Python function is registered as {derive!r}, which its "
            "derive_func names",
            call.span,
        )
    info = function(call)
    if not isinstance(info, StructInfo):
        raise StructInfoError(
            f"{_callee(call)}: derive_func must give struct info, it gave {info!r}", call.span
        )
    return info


def _callee(call: Call) -> str:
    name = getattr(call.op, "name_hint", None)
    return f"function {name!r}" if name else "the function"


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"
