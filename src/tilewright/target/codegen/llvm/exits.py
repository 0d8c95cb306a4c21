"""How functions end: with a result, or with an error."""

from __future__ import annotations

from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT64, INT64
from tilewright.ir.expr import Call, Expr, IntImm
from tilewright.target.codegen.llvm.casts import cast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.tir.stmt import AssertStmt


@emits("tir.ret")
def _ret(emitter: FunctionEmitter, call: Call) -> str:
    # A `ret` of another status than 0 returns that of an error, which is registered already.
    fails = any(isinstance(arg, IntImm) and arg.value != 0 for arg in call.args)
    if emitter.closure is not None and not fails:
        raise CodegenError("target llvm: only errors leave the function from a parallel loop")
    emitter.leave(emitter.operand(call.args[0]) if call.args else "zeroinitializer")
    return ""


@emits("tir.raise_error")
def _raise_error(emitter: FunctionEmitter, call: Call) -> str:
    kind, message = (arg.value for arg in call.args[:2])  # type: ignore[attr-defined]
    leave_with_error(emitter, kind, message, call.args[2:])
    return ""


def leave_with_error(
    emitter: FunctionEmitter, kind: str, message: str, values: tuple[Expr, ...] = ()
) -> None:
    """Leave the function with an error.

    Args:
        emitter: writes the function.
        kind: the name of the error's class.
        message: a printf format.
        values: the values that it prints.
    """
    if emitter.result_type != "i32":
        raise CodegenError(
            "target llvm: a function that returns a value cannot fail (assert, raise_error, "
            "allocate), because it could not return the error"
        )
    types, operands = printed(emitter, values)
    text = message if values else message.replace("%%", "%")
    strings = [f"ptr {emitter.module.string(kind)}", f"ptr {emitter.module.string(text)}"]
    arguments = [f"{ty} {operand}" for ty, operand in zip(types, operands, strict=True)]
    function = emitter.module.error_function(tuple(types))
    emitter.leave(emitter.value(f"call i32 {function}({', '.join([*strings, *arguments])})"))


def printed(emitter: FunctionEmitter, values: tuple[Expr, ...]) -> tuple[list[str], list[str]]:
    """The types and the operands of values for printf."""
    types, operands = [], []
    for value in values:
        operand = emitter.operand(value)
        if value.dtype.is_float:
            types.append("double")
            operands.append(cast(emitter, operand, value.dtype, FLOAT64))
        elif value.dtype.is_handle:
            types.append("ptr")
            operands.append(operand)
        else:
            types.append("i64")
            operands.append(cast(emitter, operand, value.dtype, INT64))
    return types, operands


@emits(AssertStmt)
def _assertion(emitter: FunctionEmitter, stmt: AssertStmt) -> None:
    wrong, right = emitter.label("wrong"), emitter.label("right")
    emitter.branch(emitter.operand(stmt.condition), right, wrong)
    emitter.start_block(wrong)
    with emitter.conditional():
        leave_with_error(emitter, "AssertionError", stmt.message.value.replace("%", "%%"))
    emitter.effect("unreachable")
    emitter.start_block(right)
    emitter.statement(stmt.body)


def leave_if_failed(emitter: FunctionEmitter, status: str) -> None:
    """Leave the function if a status is not 0: an error is registered then."""
    failed = emitter.value(f"icmp ne i32 {status}, 0")
    wrong, right = emitter.label("failed"), emitter.label("returned")
    emitter.branch(failed, wrong, right)
    emitter.start_block(wrong)
    emitter.leave("-1")
    emitter.effect("unreachable")
    emitter.start_block(right)
