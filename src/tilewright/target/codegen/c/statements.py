"""Statements and functions in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.error import CodegenError
from tilewright.ir.convert import const
from tilewright.ir.expr import Call, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.ir.types import PointerType
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.calls import CallEmitter
from tilewright.target.codegen.c.emitter import INDENT, Precedence, Text, c_string
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
from tilewright.tir.transform.allocations import STACK_LIMIT


class FunctionEmitter(CallEmitter):
    """Writes one function."""

    def __init__(self, helpers: dict[str, str]) -> None:
        super().__init__(helpers)
        self._heap: list[str] = []
        self._statements: dict[type[Stmt], Callable[[Any], None]] = {
            SeqStmt: self.sequence,
            For: self.loop,
            While: self.while_loop,
            IfThenElse: self.branch,
            BufferStore: self.store,
            LetStmt: self.let_statement,
            Allocate: self.allocate,
            AllocateConst: self.constant,
            AssertStmt: self.assertion,
            Evaluate: self.evaluate,
            AttrStmt: self.skip_to_body,
            DeclBuffer: self.skip_to_body,
        }

    def function(self, name: str, func: PrimFunc, linkage: str) -> tuple[str, str]:
        """The prototype and the definition of `func` under the C name `name`."""
        noalias = bool(func.attrs.get("tir.noalias", False))
        parameters = ", ".join(self._parameter(p, noalias) for p in func.params) or "void"
        result = "void" if func.ret_type is None else value_type(func.ret_type.dtype)  # type: ignore[attr-defined]
        prototype = f"{linkage} {result} {name}({parameters})"
        self.statement(func.body)
        if result != "void" and not (self.lines and self.lines[-1].startswith(f"{INDENT}return ")):
            self.line("return 0;")
        unused = [self.names[p] for p in func.params if self.names[p] not in self.used]
        mentions = [f"{INDENT}(void){parameter};" for parameter in unused]
        return prototype, "\n".join([prototype + " {", *mentions, *self.lines, "}"])

    def _parameter(self, param: Var, noalias: bool) -> str:
        annotation = param.type_annotation
        name = self.names.define(param)
        if not isinstance(annotation, PointerType) or annotation.element_type.dtype == "void":
            return f"{value_type(param.dtype)} {name}"
        restrict = " restrict" if noalias else ""
        return f"{memory_type(annotation.element_type.dtype)}*{restrict} {name}"

    def statement(self, stmt: Stmt) -> None:
        """Write `stmt`."""
        emit = self._statements.get(stmt.__class__)
        if emit is None:
            raise CodegenError(f"target c cannot express a {type(stmt).__name__}; lower it first")
        emit(stmt)

    def block(self, stmt: Stmt) -> None:
        """Write `stmt` one level deeper."""
        self.depth += 1
        self.statement(stmt)
        self.depth -= 1

    def sequence(self, stmt: SeqStmt) -> None:
        for item in stmt.seq:
            self.statement(item)

    def skip_to_body(self, stmt: AttrStmt | DeclBuffer) -> None:
        self.statement(stmt.body)

    def loop(self, stmt: For) -> None:
        if stmt.kind is ForKind.THREAD_BINDING:
            raise CodegenError("target c has no GPU threads; bind no loop to them")
        starts_at_zero = isinstance(stmt.min, IntImm) and stmt.min.value == 0
        start = self.plain(stmt.min) if starts_at_zero else self.temporary(stmt.min)
        extent = self.plain(stmt.extent)
        if not isinstance(stmt.extent, (IntImm, Var)):
            # Evaluated once, whatever the body does.
            extent = self.temporary(stmt.extent)
        self.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
        c_type, name = value_type(stmt.loop_var.dtype), self.names.define(stmt.loop_var)
        end = extent if starts_at_zero else self._end(stmt, start, extent)
        if stmt.kind is ForKind.PARALLEL and not leaves_function(stmt.body):
            self.line("#ifdef _OPENMP")
            self.line(f"#pragma omp parallel for{_schedule_clause(stmt)}")
            self.line("#endif")
        self.line(f"for ({c_type} {name} = {start}; {name} < {end}; ++{name}) {{")
        self.block(stmt.body)
        self.line("}")

    def _end(self, stmt: For, start: str, extent: str) -> str:
        """The first number after the loop's."""
        if isinstance(stmt.min, IntImm) and isinstance(stmt.extent, IntImm):
            return self.plain(const(stmt.min.value + stmt.extent.value, stmt.min.dtype))
        return f"{start} + {extent}"

    def while_loop(self, stmt: While) -> None:
        lines, text = self.branch_of(stmt.condition)
        if not lines:
            self.line(f"while ({text.code}) {{")
        else:
            self.line("while (true) {")
            self.lines += lines
            self.line(f"  if (!({text.code})) break;")
        self.block(stmt.body)
        self.line("}")

    def branch(self, stmt: IfThenElse) -> None:
        self.line(f"if ({self.code(stmt.condition)}) {{")
        self._cases(stmt)

    def _cases(self, stmt: IfThenElse) -> None:
        self.block(stmt.then_case)
        other = stmt.else_case
        if isinstance(other, IfThenElse):
            lines, test = self.branch_of(other.condition)
            if not lines:
                self.line(f"}} else if ({test.code}) {{")
                self._cases(other)
                return
        if other is not None:
            self.line("} else {")
            self.block(other)
        self.line("}")

    def store(self, stmt: BufferStore) -> None:
        if stmt.predicate is not None:
            raise CodegenError(f"target c cannot express the masked store `{stmt!r}`")
        if stmt.value.dtype.lanes != 1:
            raise CodegenError(f"target c cannot express the vector store `{stmt!r}`")
        value, element = self.plain(stmt.value), self.element(stmt)
        if stmt.buffer.dtype in HALVES:
            value = f"tw_store_{self.half_helper(stmt.buffer.dtype)}({value})"
        self.line(f"{element} = {value};")

    def let_statement(self, stmt: LetStmt) -> None:
        value = self.plain(stmt.value)
        self.line(f"{self.declared(stmt.var)} = {value};")
        self._body_using(self.names[stmt.var], stmt.body, self.used)

    def _body_using(self, name: str, body: Stmt, mentioned: set[str]) -> None:
        """Write `body`; if it leaves `name` unmentioned, mention it, or compilers complain."""
        position, indent = len(self.lines), INDENT * self.depth
        self.statement(body)
        if name not in mentioned:
            self.lines.insert(position, f"{indent}(void){name};")

    def allocate(self, stmt: Allocate) -> None:
        c_type, name = memory_type(stmt.dtype), self.names.define(stmt.buffer_var)
        constant = all(isinstance(extent, IntImm) for extent in stmt.extents)
        size = stmt.dtype.itemsize
        for extent in stmt.extents:
            size *= extent.value if isinstance(extent, IntImm) else 1
        if constant and size <= STACK_LIMIT:
            count = " * ".join(self.code(e, Precedence.PRODUCT) for e in stmt.extents) or "1"
            self.line(f"{c_type} {name}[{count if size else 1}];")
            self._body_using(name, stmt.body, self.read)
            return
        count = " * ".join(f"(size_t){self.code(e, Precedence.UNARY)}" for e in stmt.extents)
        self.helper("raise", prelude.RAISE)
        self.line(f"{c_type}* {name} = malloc({count} * sizeof({c_type}) + 1);")
        message = c_string(f"not enough memory for the workspace {stmt.buffer_var.name}")
        self.line(f"if ({name} == NULL) {{")
        self.depth += 1
        self.leave(f'tw_raise("MemoryError", {message})')
        self.depth -= 1
        self.line("}")
        self._heap.append(name)
        self.statement(stmt.body)
        self._heap.pop()
        self.line(f"free({name});")

    def constant(self, stmt: AllocateConst) -> None:
        import numpy as np

        c_type, name = memory_type(stmt.dtype), self.names.define(stmt.buffer_var)
        data = np.ascontiguousarray(stmt.data).reshape(-1)
        if stmt.dtype in HALVES:
            data = data.view(np.uint16)
        elements = [self.text(immediate(stmt.dtype, value)).code for value in data.tolist()]
        self.line(f"static const {c_type} {name}_data[] = {{{', '.join(elements) or '0'}}};")
        self.line(f"{c_type}* {name} = ({c_type}*){name}_data;")
        self._body_using(name, stmt.body, self.used)

    def assertion(self, stmt: AssertStmt) -> None:
        self.helper("raise", prelude.RAISE)
        self.line(f"if ({self.opposite(stmt.condition).code}) {{")
        self.depth += 1
        message = c_string(stmt.message.value.replace("%", "%%"))
        self.leave(f'tw_raise("AssertionError", {message})')
        self.depth -= 1
        self.line("}")
        self.statement(stmt.body)

    def evaluate(self, stmt: Evaluate) -> None:
        text: Text = self.text(stmt.value)
        if not text.code or isinstance(stmt.value, IntImm) or text.code == "0":
            return
        is_call = text.code.endswith(")") and isinstance(stmt.value, Call)
        self.line(f"{text.code};" if is_call else f"(void){text.at(Precedence.UNARY)};")

    def leave(self, value: str) -> None:
        result = self.names.fresh("result") if self._heap and value else ""
        if result:
            self.line(f"const int32_t {result} = {value};")
        for name in reversed(self._heap):
            self.line(f"free({name});")
        self.line(f"return {result or value};" if value else "return;")


def immediate(dtype: Any, value: Any) -> Any:
    """A constant as it stands in an initialiser: half types as their bits."""
    return const(int(value), "uint16") if dtype in HALVES else const(value, dtype)


def _schedule_clause(loop: For) -> str:
    """How OpenMP divides the iterations of a loop."""
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
