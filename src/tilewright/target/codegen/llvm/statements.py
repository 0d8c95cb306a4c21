"""Statements: sequences, branches, variables, while loops."""

from __future__ import annotations

from tilewright.ir.expr import IntImm
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.tir.stmt import (
    AttrStmt,
    DeclBuffer,
    Evaluate,
    IfThenElse,
    LetStmt,
    SeqStmt,
    While,
)
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
    condition = emitter.operand(stmt.condition)
    then, after = emitter.label("then"), emitter.label("after")
    otherwise = emitter.label("else") if stmt.else_case is not None else after
    emitter.branch(condition, then, otherwise)
    emitter.start_block(then)
    with emitter.conditional(), emitter.analyzer.constraint(stmt.condition):
        emitter.statement(stmt.then_case)
    emitter.jump(after)
    if stmt.else_case is not None:
        emitter.start_block(otherwise)
        with emitter.conditional():
            emitter.statement(stmt.else_case)
        emitter.jump(after)
    emitter.start_block(after)


@emits(LetStmt)
def _let_statement(emitter: FunctionEmitter, stmt: LetStmt) -> None:
    emitter.define_variable(stmt.var, stmt.value)
    emitter.statement(stmt.body)


@emits(Evaluate)
def _evaluate(emitter: FunctionEmitter, stmt: Evaluate) -> None:
    emitter.operand(stmt.value)
