"""Statements: sequences, branches, variables, while loops, and how functions end."""

from __future__ import annotations

from tilewright.error import CodegenError, LoweringError
from tilewright.ir.dtype import FLOAT64, INT64
from tilewright.ir.expr import Call, Expr, IntImm, Not
from tilewright.target.codegen.llvm.conversions import cast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.tir.op.devices import DEVICE_MEMORY
from tilewright.tir.stmt import (
    AssertStmt,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    IfThenElse,
    LetStmt,
    SeqStmt,
    While,
)
from tilewright.tir.transform.device.thread_axes import is_axis
from tilewright.tir.transform.stream_stores import NONTEMPORAL_STORES


@emits(SeqStmt)
def _sequence(emitter: FunctionEmitter, stmt: SeqStmt) -> None:
    for item in stmt.seq:
        emitter.statement(item)


@emits(DeclBuffer)
def _declaration(emitter: FunctionEmitter, stmt: DeclBuffer) -> None:
    emitter.statement(stmt.body)


@emits(While)
def _while(emitter: FunctionEmitter, stmt: While) -> None:
    head, body, done = emitter.label("while"), emitter.label("do"), emitter.label("done")
    outer = emitter.region
    with emitter.region_of_loop() as inner:
        emitter.start_block(head)
        emitter.branch(emitter.operand(stmt.condition), body, done)
        emitter.start_block(body)
        with emitter.conditional():
            emitter.statement(stmt.body)
        emitter.jump(head)
    outer.lines += inner.header
    outer.lines.append(f"  br label %{head}")
    outer.lines += inner.lines
    emitter.start_block(done)


@emits(AttrStmt)
def _attribute(emitter: FunctionEmitter, stmt: AttrStmt) -> None:
    if stmt.attr_key == NONTEMPORAL_STORES:
        _streaming(emitter, stmt)
    elif stmt.attr_key == DEVICE_MEMORY:
        emitter.beside = emitter.operand(stmt.value)
        emitter.statement(stmt.body)
    elif is_axis(stmt):
        raise LoweringError(f"the llvm target has no axis {stmt.node.thread_tag}: no threads run")
    else:
        emitter.statement(stmt.body)


def _streaming(emitter: FunctionEmitter, stmt: AttrStmt) -> None:
    """The body twice: with stores past the caches, for memory that is aligned, and without."""
    pointer = emitter.variable(stmt.node)
    address = emitter.pure(f"ptrtoint ptr {pointer} to i64", pointer)
    assert isinstance(stmt.value, IntImm)
    low = emitter.pure(f"and i64 {address}, {stmt.value.value - 1}", address)
    aligned = emitter.pure(f"icmp eq i64 {low}, 0", low)
    then, otherwise, after = map(emitter.label, ("aligned", "plain", "after"))
    emitter.branch(aligned, then, otherwise)
    emitter.start_block(then)
    emitter.streamed.add(stmt.node)
    with emitter.conditional():
        emitter.statement(stmt.body)
    emitter.streamed.discard(stmt.node)
    if emitter.module.target.architecture == "x86_64":
        # These stores may be seen later than others that come after them.
        emitter.effect(f"call void {emitter.module.declare('llvm.x86.sse.sfence', 'void', ())}()")
    emitter.jump(after)
    emitter.start_block(otherwise)
    with emitter.conditional():
        emitter.statement(stmt.body)
    emitter.jump(after)
    emitter.start_block(after)


@emits(IfThenElse)
def _branches(emitter: FunctionEmitter, stmt: IfThenElse) -> None:
    then, after = emitter.label("then"), emitter.label("after")
    otherwise = emitter.label("else") if stmt.else_case is not None else after
    if isinstance(stmt.condition, Not):
        emitter.branch(emitter.operand(stmt.condition.a), otherwise, then)
    else:
        emitter.branch(emitter.operand(stmt.condition), then, otherwise)
    emitter.start_block(then)
    with emitter.conditional(), emitter.analyzer.constraint(stmt.condition):
        emitter.statement(stmt.then_case)
    emitter.merge_into(after)
    if stmt.else_case is not None:
        emitter.start_block(otherwise)
        with emitter.conditional():
            emitter.statement(stmt.else_case)
        emitter.merge_into(after)
    emitter.start_block(after)


@emits(LetStmt)
def _let_statement(emitter: FunctionEmitter, stmt: LetStmt) -> None:
    emitter.define_variable(stmt.var, stmt.value)
    emitter.statement(stmt.body)


@emits(Evaluate)
def _evaluate(emitter: FunctionEmitter, stmt: Evaluate) -> None:
    emitter.operand(stmt.value)


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

    `kind` is the name of its class, `message` a printf format of `values`.
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
    emitter.merge_into(right)
    emitter.start_block(right)
    emitter.statement(stmt.body)


def leave_if_failed(emitter: FunctionEmitter, status: str, kind: str = "i32") -> None:
    """Leave the function if a status is not 0: an error is registered then."""
    failed = emitter.value(f"icmp ne {kind} {status}, 0")
    wrong, right = emitter.label("failed"), emitter.label("returned")
    emitter.branch(failed, wrong, right)
    emitter.start_block(wrong)
    emitter.leave("-1")
    emitter.merge_into(right)
    emitter.start_block(right)
