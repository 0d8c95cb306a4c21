"""Statements and functions in C."""

from __future__ import annotations

from typing import Any

from tilewright.error import CodegenError
from tilewright.ir.convert import const
from tilewright.ir.dtype import PointerType
from tilewright.ir.expr import Call, IntImm, Var, constant_product
from tilewright.ir.rewrite import walk
from tilewright.target.codegen.c.emitter import INDENT, FunctionEmitter, Precedence, Text, emits
from tilewright.target.codegen.c.expressions import declared, lvalue, opposite
from tilewright.target.codegen.c.integers import plain
from tilewright.target.codegen.c.types import HALVES, memory_type, value_type
from tilewright.tir.function import PrimFunc
from tilewright.tir.parallel_schedule import parallel_schedule
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from tilewright.tir.transform.building.allocations import STACK_LIMIT
from tilewright.tir.transform.device.thread_axes import is_axis


def write_function(
    name: str, func: PrimFunc, linkage: str, helpers: dict[str, str]
) -> tuple[str, str]:
    """The prototype and the definition of `func`.

    `linkage` is what the declaration starts with, such as ``static``; `helpers` are sources of
    helper functions by name, to which those are added that the function calls.
    """
    emitter = FunctionEmitter(helpers)
    noalias = bool(func.attrs.get("tir.noalias", False))
    parameters = ", ".join(_parameter(emitter, p, noalias) for p in func.params) or "void"
    result = "void" if func.ret_type is None else value_type(func.ret_type.dtype)  # type: ignore[attr-defined]
    prototype = f"{linkage} {result} {name}({parameters})"
    emitter.statement(func.body)
    if result != "void" and not (
        emitter.lines and emitter.lines[-1].startswith(f"{INDENT}return ")
    ):
        emitter.line("return 0;")
    unused = [emitter.names[p] for p in func.params if emitter.names[p] not in emitter.used]
    mentions = [f"{INDENT}(void){parameter};" for parameter in unused]
    return prototype, "\n".join([prototype + " {", *mentions, *emitter.lines, "}"])


def _parameter(emitter: FunctionEmitter, param: Var, noalias: bool) -> str:
    annotation = param.type_annotation
    name = emitter.names.define(param)
    if not isinstance(annotation, PointerType) or annotation.element_type.dtype == "void":
        return f"{value_type(param.dtype)} {name}"
    restrict = " restrict" if noalias else ""
    return f"{memory_type(annotation.element_type.dtype)}*{restrict} {name}"


@emits(SeqStmt)
def _sequence(emitter: FunctionEmitter, stmt: SeqStmt) -> None:
    for item in stmt.seq:
        emitter.statement(item)


@emits(AttrStmt)
def _attribute(emitter: FunctionEmitter, stmt: AttrStmt) -> None:
    if is_axis(stmt):
        raise CodegenError("target c has no GPU threads; launch none")
    emitter.statement(stmt.body)


@emits(DeclBuffer)
def _declaration(emitter: FunctionEmitter, stmt: DeclBuffer) -> None:
    emitter.statement(stmt.body)


@emits(For)
def _loop(emitter: FunctionEmitter, stmt: For) -> None:
    if stmt.kind is ForKind.THREAD_BINDING:
        raise CodegenError("target c has no GPU threads; bind no loop to them")
    starts_at_zero = isinstance(stmt.min, IntImm) and stmt.min.value == 0
    start = plain(emitter, stmt.min) if starts_at_zero else emitter.temporary(stmt.min)
    extent = plain(emitter, stmt.extent)
    if not isinstance(stmt.extent, (IntImm, Var)):
        # Evaluated once, whatever the body does.
        extent = emitter.temporary(stmt.extent)
    emitter.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
    c_type, name = value_type(stmt.loop_var.dtype), emitter.names.define(stmt.loop_var)
    end = extent if starts_at_zero else _end(emitter, stmt, start, extent)
    if stmt.kind is ForKind.PARALLEL and not leaves_function(stmt.body):
        emitter.line("#ifdef _OPENMP")
        emitter.line(f"#pragma omp parallel for{_schedule_clause(stmt)}")
        emitter.line("#endif")
    if stmt.kind is ForKind.UNROLLED and emitter.unrolls:
        emitter.line("#pragma unroll")
    emitter.line(f"for ({c_type} {name} = {start}; {name} < {end}; ++{name}) {{")
    emitter.block(stmt.body)
    emitter.line("}")


def _end(emitter: FunctionEmitter, stmt: For, start: str, extent: str) -> str:
    """The end of the loop's range, exclusive."""
    if isinstance(stmt.min, IntImm) and isinstance(stmt.extent, IntImm):
        return plain(emitter, const(stmt.min.value + stmt.extent.value, stmt.min.dtype))
    return f"{start} + {extent}"


@emits(While)
def _while_loop(emitter: FunctionEmitter, stmt: While) -> None:
    lines, text = emitter.branch_of(stmt.condition)
    if not lines:
        emitter.line(f"while ({text.code}) {{")
    else:
        emitter.line("while (true) {")
        emitter.lines += lines
        emitter.line(f"  if (!({text.code})) break;")
    emitter.block(stmt.body)
    emitter.line("}")


@emits(IfThenElse)
def _branch(emitter: FunctionEmitter, stmt: IfThenElse) -> None:
    emitter.line(f"if ({emitter.code(stmt.condition)}) {{")
    _cases(emitter, stmt)


def _cases(emitter: FunctionEmitter, stmt: IfThenElse) -> None:
    emitter.block(stmt.then_case)
    other = stmt.else_case
    if isinstance(other, IfThenElse):
        lines, test = emitter.branch_of(other.condition)
        if not lines:
            emitter.line(f"}} else if ({test.code}) {{")
            _cases(emitter, other)
            return
    if other is not None:
        emitter.line("} else {")
        emitter.block(other)
    emitter.line("}")


@emits(BufferStore)
def _store(emitter: FunctionEmitter, stmt: BufferStore) -> None:
    if stmt.predicate is not None:
        raise CodegenError(f"target {emitter.target} cannot express the masked store `{stmt!r}`")
    if stmt.value.dtype.lanes != 1:
        raise CodegenError(f"target {emitter.target} cannot express the vector store `{stmt!r}`")
    value, element = plain(emitter, stmt.value), lvalue(emitter, stmt)
    emitter.line(f"{element} = {emitter.stored(stmt.buffer.dtype, value)};")


@emits(LetStmt)
def _let_statement(emitter: FunctionEmitter, stmt: LetStmt) -> None:
    value = plain(emitter, stmt.value)
    emitter.line(f"{declared(emitter, stmt.var)} = {value};")
    _body_using(emitter, emitter.names[stmt.var], stmt.body, emitter.used)


def _body_using(emitter: FunctionEmitter, name: str, body: Stmt, mentioned: set[str]) -> None:
    """Write `body`, with a mention of `name` if it has none, which avoids warnings."""
    position, indent = len(emitter.lines), INDENT * emitter.depth
    emitter.statement(body)
    if name not in mentioned:
        emitter.lines.insert(position, f"{indent}(void){name};")


@emits(Allocate)
def _allocate(emitter: FunctionEmitter, stmt: Allocate) -> None:
    c_type, name = memory_type(stmt.dtype), emitter.names.define(stmt.buffer_var)
    elements = constant_product(stmt.extents)
    if elements is not None and elements * stmt.dtype.itemsize <= STACK_LIMIT:
        count = " * ".join(emitter.code(e, Precedence.PRODUCT) for e in stmt.extents) or "1"
        emitter.line(f"{c_type} {name}[{count if elements else 1}];")
        _body_using(emitter, name, stmt.body, emitter.read)
        return
    count = " * ".join(f"(size_t){emitter.code(e, Precedence.UNARY)}" for e in stmt.extents)
    emitter.line(f"{c_type}* {name} = malloc({count} * sizeof({c_type}) + 1);")
    emitter.line(f"if ({name} == NULL) {{")
    emitter.depth += 1
    message = f"not enough memory for the workspace {stmt.buffer_var.name}"
    emitter.leave_with_error("MemoryError", message)
    emitter.depth -= 1
    emitter.line("}")
    emitter.heap.append(name)
    emitter.statement(stmt.body)
    emitter.heap.pop()
    emitter.line(f"free({name});")


@emits(AllocateConst)
def _constant(emitter: FunctionEmitter, stmt: AllocateConst) -> None:
    c_type, name = memory_type(stmt.dtype), emitter.names.define(stmt.buffer_var)
    emitter.line(f"static const {c_type} {name}_data[] = {{{initializer(emitter, stmt)}}};")
    emitter.line(f"{c_type}* {name} = ({c_type}*){name}_data;")
    _body_using(emitter, name, stmt.body, emitter.used)


def initializer(emitter: FunctionEmitter, stmt: AllocateConst) -> str:
    """The elements of a constant."""
    import numpy as np

    data = np.ascontiguousarray(stmt.data).reshape(-1)
    if stmt.dtype in HALVES:
        data = data.view(np.uint16)
    elements = [emitter.text(immediate(stmt.dtype, value)).code for value in data.tolist()]
    return ", ".join(elements) or "0"


@emits(AssertStmt)
def _assertion(emitter: FunctionEmitter, stmt: AssertStmt) -> None:
    emitter.line(f"if ({opposite(emitter, stmt.condition).code}) {{")
    emitter.depth += 1
    emitter.leave_with_error("AssertionError", stmt.message.value.replace("%", "%%"))
    emitter.depth -= 1
    emitter.line("}")
    emitter.statement(stmt.body)


@emits(Evaluate)
def _evaluate(emitter: FunctionEmitter, stmt: Evaluate) -> None:
    text: Text = emitter.text(stmt.value)
    if not text.code or isinstance(stmt.value, IntImm) or text.code == "0":
        return
    is_call = text.code.endswith(")") and isinstance(stmt.value, Call)
    emitter.line(f"{text.code};" if is_call else f"(void){text.at(Precedence.UNARY)};")


def immediate(dtype: Any, value: Any) -> Any:
    """A constant in an initialiser; half types as their bits."""
    return const(int(value), "uint16") if dtype in HALVES else const(value, dtype)


def _schedule_clause(loop: For) -> str:
    """OpenMP's schedule clause for a loop."""
    schedule = parallel_schedule(loop)
    if not schedule.dynamic:
        return ""
    return f" schedule(dynamic, {schedule.chunk})" if schedule.chunk else " schedule(dynamic)"


def leaves_function(stmt: Stmt) -> bool:
    """Whether `stmt` may leave the function, which an OpenMP region must not."""
    jumps = ("tir.ret", "tir.raise_error")
    for node in walk(stmt):
        if isinstance(node, (AssertStmt, Allocate)):
            return True
        if isinstance(node, Call) and getattr(node.op, "name", "") in jumps:
            return True
    return False
