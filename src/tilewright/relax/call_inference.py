"""The struct info of a call: from an operator's entry, or from the signature of the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.linear import Terms, collect
from tilewright.error import StructInfoError
from tilewright.ir.expr import Expr, Var
from tilewright.ir.function import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import Call, ExternFunc
from tilewright.relax.op.inference import Inference, given_result
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.sizes import substitute_sizes, symbolic_vars_of
from tilewright.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.struct_info_relation import (
    BaseCheckResult,
    erase_to_well_defined,
    struct_info_base_check,
)
from tilewright.tir.substitute import substitute

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
    raise StructInfoError(f"{_callee(call)} is no function, it is {info!r}", call.span)


def operator_problem(call: Call) -> str | None:
    """Why a call is none of an operator with as many operands as it takes; None if it is one."""
    op: Any = call.op
    entry = OPERATORS.get(op)
    if entry is None:
        return f"{op.name} is no operator of graphs"
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
            return signature.derive_func(call)
        return given_result(call.sinfo_args) if call.sinfo_args else signature.ret
    if len(call.args) != len(signature.params):
        raise StructInfoError(
            f"{_callee(call)} takes {_counted(len(signature.params))}, got {len(call.args)}",
            call.span,
        )
    arguments = [getattr(argument, "struct_info", None) for argument in call.args]
    infos = [ObjectStructInfo() if info is None else info for info in arguments]
    sizes = solve_sizes(signature.params, infos, analyzer)
    for position, (param, info) in enumerate(zip(signature.params, infos, strict=True)):
        asked = substitute_sizes(param, sizes, analyzer)
        if struct_info_base_check(asked, info, analyzer) is BaseCheckResult.FAIL_L0:
            raise StructInfoError(
                f"{_callee(call)}: argument {position} must be {asked!r}, it is {info!r}",
                call.span,
            )
    own = {var for param in signature.params for var in symbolic_vars_of(param)}
    ret = erase_to_well_defined(signature.ret, lambda var: var in sizes or var not in own)
    return substitute_sizes(ret, sizes, analyzer)


def _callee(call: Call) -> str:
    name = getattr(call.op, "name_hint", None)
    return f"function {name!r}" if name else "the function"


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


# --- solving sizes --------------------------------------------------------------------------


def solve_sizes(
    params: tuple[StructInfo, ...], arguments: Sequence[StructInfo], analyzer: Analyzer
) -> dict[Var, Expr]:
    """The symbolic sizes of a signature, as far as they follow from the arguments.

    Extents that are a size alone come first; then those with one unknown size, such as ``n + 1``,
    are solved for it.
    """
    equations: list[tuple[Expr, Expr]] = []
    for param, argument in zip(params, arguments, strict=True):
        _equations_of(param, argument, equations)
    sizes: dict[Var, Expr] = {}
    for pattern, value in equations:
        if isinstance(pattern, Var):
            sizes.setdefault(pattern, value)
    waiting = [pair for pair in equations if not isinstance(pair[0], Var)]
    while waiting:
        unsolved = []
        for pattern, value in waiting:
            unknown = [var for var in symbolic_vars_of(pattern) if var not in sizes]
            if len(unknown) == 1:
                solution = solve_linear(pattern, value, unknown[0], sizes, analyzer)
                if solution is not None:
                    sizes[unknown[0]] = solution
            elif unknown:
                unsolved.append((pattern, value))
        if len(unsolved) == len(waiting):
            break
        waiting = unsolved
    return sizes


def _equations_of(
    pattern: StructInfo, info: StructInfo, equations: list[tuple[Expr, Expr]]
) -> None:
    """The extents of the pattern with those of the value, where both are known."""
    pairs: Any = ()
    if isinstance(pattern, TensorStructInfo) and isinstance(info, TensorStructInfo):
        pairs = zip(pattern.extents or (), info.extents or (), strict=False)
    elif isinstance(pattern, ShapeStructInfo) and isinstance(info, ShapeStructInfo):
        pairs = zip(pattern.values or (), info.values or (), strict=False)
    elif isinstance(pattern, PrimStructInfo) and isinstance(info, PrimStructInfo):
        if pattern.value is not None and info.value is not None:
            pairs = ((pattern.value, info.value),)
    elif isinstance(pattern, TupleStructInfo) and isinstance(info, TupleStructInfo):
        for field, value in zip(pattern.fields, info.fields, strict=False):
            _equations_of(field, value, equations)
    equations.extend(pairs)


def solve_linear(
    pattern: Expr, value: Expr, unknown: Var, sizes: dict[Var, Expr], analyzer: Analyzer
) -> Expr | None:
    """The `unknown` for which `pattern`, in which all else is known, is `value`."""
    terms: Terms = {}
    constant = collect(analyzer.simplify(substitute(pattern, sizes)), 1, terms)
    factor = next((f for term, f in terms.items() if term is unknown), None)
    others = {term: -f for term, f in terms.items() if term is not unknown}
    if factor is None or any(var is unknown for term in others for var in symbolic_vars_of(term)):
        return None
    rest = analyzer.simplify(value + analyzer.simplified_sum(others, -constant, value.dtype))
    if factor in (1, -1):
        return analyzer.simplify(rest * factor)
    return analyzer.exact_quotient(rest, factor)
