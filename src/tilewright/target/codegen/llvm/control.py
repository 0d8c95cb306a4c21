"""Statements and whole functions in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.error import CodegenError, LoweringError
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.types import PointerType, PrimType
from tilewright.target.codegen.c_library import own_name
from tilewright.target.codegen.llvm.interrupts import (
    POLL,
    STEP,
    UNKNOWN_STEP,
    can_poll,
    needs_polls,
)
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.parallel import Parallel
from tilewright.target.codegen.llvm.raising import COLD, SHARED
from tilewright.target.codegen.llvm.types import HALVES, memory_type, value_type
from tilewright.target.codegen.llvm.work import iteration_work
from tilewright.target.codegen.llvm.workspace import ALLOCATE, FREE
from tilewright.tir.function import PrimFunc
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
from tilewright.tir.transform.stream_stores import NONTEMPORAL_STORES

ALIGNMENT = 64
"""Bytes to which workspaces are aligned."""


class Control(Parallel):
    """Writes statements and functions."""

    def __init__(self, module: ModuleText, parent: Parallel | None = None) -> None:
        super().__init__(module, parent)
        self._workspaces: list[str] = []
        self._name = ""
        self._polls = False
        self._statements: dict[type[Stmt], Callable[[Any], None]] = {
            SeqStmt: self._sequence,
            For: self._loop,
            While: self._while,
            IfThenElse: self._branches,
            BufferStore: self.store,
            LetStmt: self._let_statement,
            Allocate: self._allocate,
            AllocateConst: self._allocate_constant,
            AssertStmt: self._assertion,
            Evaluate: self._evaluate,
            AttrStmt: self._attribute,
            DeclBuffer: lambda stmt: self.statement(stmt.body),
        }

    # --- functions ----------------------------------------------------------------------------

    def function(self, name: str, func: PrimFunc) -> str:
        """The definition of `func` under the given name."""
        if func.buffer_map:
            raise CodegenError(f"function {name} has buffer parameters; lower its calls first")
        noalias = bool(func.attrs.get("tir.noalias", False))
        parameters = ", ".join(self._parameter(param, noalias) for param in func.params)
        if func.ret_type is None:
            self.result_type = "void"
        elif isinstance(func.ret_type, PrimType):
            self.result_type = value_type(func.ret_type.dtype)
        self._name = name
        self._polls = self.result_type == "i32" and can_poll(func, self.module.target)
        self.statement(func.body)
        self.leave("zeroinitializer")
        # `leave` starts a block for what may follow; nothing does.
        self.effect("unreachable")
        exported = "calling_conv" in func.attrs or bool(func.attrs.get("tir.is_exported", False))
        if exported:
            self.module.exported.append(name)
        internal = SHARED if func.attrs.get("tir.is_shared", False) else "internal "
        weak = "weak_odr " if func.attrs.get("tir.is_weak", False) else ""
        visibility = "hidden " if func.attrs.get("tir.is_hidden", False) else ""
        linkage = weak + visibility if exported else internal
        symbol = name if exported else own_name(name)
        speed = COLD if func.attrs.get("tir.is_cold", False) else ""
        head = f'define {linkage}{self.result_type} @"{symbol}"({parameters}) nounwind {speed} {{'
        return "\n".join([head, "entry:", *self.entry, *self.region.lines, "}"])

    def _parameter(self, param: Var, noalias: bool) -> str:
        register = self.variables[param] = self.fresh("%p")
        ty = value_type(param.dtype)
        if noalias and isinstance(param.type_annotation, PointerType):
            self.unaliased.add(register)
            return f"{ty} noalias {register}"
        return f"{ty} {register}"

    def leave(self, value: str) -> None:
        for workspace in reversed(self._workspaces):
            self._free(workspace)
        self.effect("ret void" if self.result_type == "void" else f"ret {self.result_type} {value}")
        self.start_block(self.label("dead"))

    # --- statements ---------------------------------------------------------------------------

    def statement(self, stmt: Stmt) -> None:
        """Write `stmt`."""
        emit = self._statements.get(stmt.__class__)
        if emit is None:
            raise CodegenError(f"target llvm has no code for a {type(stmt).__name__}; lower it")
        emit(stmt)

    def _sequence(self, stmt: SeqStmt) -> None:
        for item in stmt.seq:
            self.statement(item)

    def _loop(self, stmt: For) -> None:
        if stmt.kind is ForKind.PARALLEL and self.parallel_loop(stmt):
            if self._polls and needs_polls(stmt, self._work_of(stmt)):
                self._poll()
            return
        if stmt.kind in (ForKind.THREAD_BINDING, ForKind.VECTORIZED):
            raise LoweringError(
                f"loop {stmt.loop_var.name}: the llvm target has no {stmt.kind.name.lower()} loops"
            )
        self.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
        if isinstance(stmt.extent, IntImm) and stmt.extent.value == 1:
            self.variables[stmt.loop_var] = self.operand(stmt.min)
            self.statement(stmt.body)
            return
        if isinstance(stmt.extent, IntImm) and stmt.extent.value <= 0:
            return
        start, extent = self.index(stmt.min), self.index(stmt.extent)
        if start == "0":
            end = extent
        elif isinstance(stmt.min, IntImm) and isinstance(stmt.extent, IntImm):
            end = str(stmt.min.value + stmt.extent.value)
        else:
            end = self.pure(f"add i64 {start}, {extent}", start, extent)
        positive = self.analyzer.can_prove_greater_equal(stmt.extent, 1)
        step = self._poll_step(stmt)
        if step is None:
            self._iterate(stmt, start, end, positive)
            return
        with self._polled_parts(start, end, step, positive) as (begin, stop):
            self._iterate(stmt, begin, stop, True)

    def _iterate(self, stmt: For, start: str, end: str, runs_at_least_once: bool) -> None:
        with self.counted_loop(start, end, runs_at_least_once=runs_at_least_once) as counter:
            self.variables[stmt.loop_var] = self.loop_variable(counter, stmt.loop_var.dtype)
            self.statement(stmt.body)

    # --- interrupts ---------------------------------------------------------------------------

    def _work_of(self, loop: For) -> Expr | None:
        work = iteration_work(loop, self.module.target.vector_bits)
        return None if work is None else self.analyzer.simplify(work)

    def _poll_step(self, loop: For) -> str | None:
        """The number of iterations between two polls of an outermost loop; None for no polls."""
        if not self._polls or self.region.level > 0:
            return None
        work = self._work_of(loop)
        if not needs_polls(loop, work):
            return None
        return str(UNKNOWN_STEP) if work is None else self._iterations_of(STEP, work)

    @contextmanager
    def _polled_parts(
        self, start: str, end: str, step: str, runs_at_least_once: bool
    ) -> Iterator[tuple[str, str]]:
        """A loop over parts of a range of `step` iterations, with a poll in front of each.

        The loop itself stays as it is, so that it is optimised as without polls.
        """
        extent = self.value(f"sub i64 {end}, {start}")
        rounded = self.value(f"add i64 {extent}, {step}")
        count = self.value(f"sdiv i64 {self.value(f'sub i64 {rounded}, 1')}, {step}")
        with self.counted_loop("0", count, runs_at_least_once=runs_at_least_once) as part:
            self._poll()
            begin = self.value(f"add i64 {self.value(f'mul i64 {part}, {step}')}, {start}")
            after = self.value(f"add i64 {begin}, {step}")
            is_last = self.value(f"icmp sgt i64 {after}, {end}")
            yield begin, self.value(f"select i1 {is_last}, i64 {end}, i64 {after}")

    def _poll(self) -> None:
        """End the call if it was interrupted."""
        self.module.needs_polls = True
        attributes = "nounwind willreturn memory(inaccessiblemem: readwrite)"
        self.leave_if_failed(self.value(f"call i32 @{POLL}() {attributes}"))

    def _while(self, stmt: While) -> None:
        head, body, done = self.label("while"), self.label("do"), self.label("done")
        outer = self.region
        with self.region_of_loop() as inner:
            self.start_block(head)
            self.branch(self.operand(stmt.condition), body, done)
            self.start_block(body)
            with self.conditional():
                self.statement(stmt.body)
            self.jump(head)
        outer.lines += inner.header
        outer.lines.append(f"  br label %{head}")
        outer.lines += inner.lines
        self.start_block(done)

    def _attribute(self, stmt: AttrStmt) -> None:
        if stmt.attr_key == NONTEMPORAL_STORES:
            self._streaming(stmt)
        else:
            self.statement(stmt.body)

    def _streaming(self, stmt: AttrStmt) -> None:
        """The body twice: with stores past the caches, for memory that is aligned, and without."""
        pointer = self.variable(stmt.node)
        address = self.pure(f"ptrtoint ptr {pointer} to i64", pointer)
        assert isinstance(stmt.value, IntImm)
        low = self.pure(f"and i64 {address}, {stmt.value.value - 1}", address)
        aligned = self.pure(f"icmp eq i64 {low}, 0", low)
        then, otherwise, after = self.label("aligned"), self.label("plain"), self.label("after")
        self.branch(aligned, then, otherwise)
        self.start_block(then)
        self.streamed.add(stmt.node)
        with self.conditional():
            self.statement(stmt.body)
        self.streamed.discard(stmt.node)
        if self.module.target.architecture == "x86_64":
            # These stores may be seen later than others that come after them.
            self.effect(f"call void {self.module.declare('llvm.x86.sse.sfence', 'void', ())}()")
        self.jump(after)
        self.start_block(otherwise)
        with self.conditional():
            self.statement(stmt.body)
        self.jump(after)
        self.start_block(after)

    def _branches(self, stmt: IfThenElse) -> None:
        condition = self.operand(stmt.condition)
        then, after = self.label("then"), self.label("after")
        otherwise = self.label("else") if stmt.else_case is not None else after
        self.branch(condition, then, otherwise)
        self.start_block(then)
        with self.conditional(), self.analyzer.constraint(stmt.condition):
            self.statement(stmt.then_case)
        self.jump(after)
        if stmt.else_case is not None:
            self.start_block(otherwise)
            with self.conditional():
                self.statement(stmt.else_case)
            self.jump(after)
        self.start_block(after)

    def _let_statement(self, stmt: LetStmt) -> None:
        self.variables[stmt.var] = self.operand(stmt.value)
        self._bind_fact(stmt.var, stmt.value)
        self.statement(stmt.body)

    def _evaluate(self, stmt: Evaluate) -> None:
        self.operand(stmt.value)

    def _assertion(self, stmt: AssertStmt) -> None:
        wrong, right = self.label("wrong"), self.label("right")
        self.branch(self.operand(stmt.condition), right, wrong)
        self.start_block(wrong)
        with self.conditional():
            self.raise_error("AssertionError", stmt.message.value.replace("%", "%%"))
        self.effect("unreachable")
        self.start_block(right)
        self.statement(stmt.body)

    # --- allocations --------------------------------------------------------------------------

    def _allocate(self, stmt: Allocate) -> None:
        self.with_memory(stmt, lambda: self.statement(stmt.body))

    def with_memory(self, stmt: Allocate, write: Callable[[], None]) -> None:
        sizes = [extent.value if isinstance(extent, IntImm) else -1 for extent in stmt.extents]
        element = memory_type(stmt.dtype)
        count = 1
        for size in sizes:
            count *= size
        constant = all(size >= 0 for size in sizes)
        if constant and (count * stmt.dtype.itemsize <= STACK_LIMIT):
            register = self.variables[stmt.buffer_var] = self.fresh("%buffer")
            self.unaliased.add(register)
            self.entry.append(
                f"  {register} = alloca [{max(count, 1)} x {element}], align {ALIGNMENT}"
            )
            write()
            return
        workspace = self._workspace(stmt.extents, stmt.dtype.itemsize, stmt.buffer_var.name)
        self.variables[stmt.buffer_var] = workspace
        self.unaliased.add(workspace)
        self._workspaces.append(workspace)
        write()
        self._workspaces.pop()
        self._free(workspace)

    def _free(self, workspace: str) -> None:
        self.module.needs_workspaces = True
        function = self.module.declare(FREE, "void", ("ptr",))
        self.effect(f"call void {function}(ptr {workspace})")

    def _workspace(self, extents: tuple[Expr, ...], itemsize: int, name: str) -> str:
        """Memory from the heap, for a number of elements that may be symbolic."""
        total = str(itemsize)
        checked = self.module.declare("llvm.umul.with.overflow.i64", "{ i64, i1 }", ("i64", "i64"))
        overflow = "false"
        for extent in extents:
            size = self.index(extent)
            # A negative extent counts as empty, and too large a product as out of memory.
            maximum = self.module.declare("llvm.smax.i64", "i64", ("i64", "i64"))
            size = self.value(f"call i64 {maximum}(i64 {size}, i64 0)")
            pair = self.value(f"call {{ i64, i1 }} {checked}(i64 {total}, i64 {size})")
            total = self.value(f"extractvalue {{ i64, i1 }} {pair}, 0")
            lost = self.value(f"extractvalue {{ i64, i1 }} {pair}, 1")
            overflow = self.value(f"or i1 {overflow}, {lost}")
        # More than there is, so that the allocation fails.
        request = self.value(f"select i1 {overflow}, i64 -1, i64 {total}")
        allocate = self.module.declare(ALLOCATE, "ptr", ("i64",))
        memory = self.value(f"call ptr {allocate}(i64 {request})")
        failed = self.value(f"icmp eq ptr {memory}, null")
        wrong, right = self.label("wrong"), self.label("right")
        self.branch(failed, wrong, right)
        self.start_block(wrong)
        with self.conditional():
            text = f"{self._name}: not enough memory for the workspace {name}"
            self.raise_error("MemoryError", text.replace("%", "%%"))
        self.effect("unreachable")
        self.start_block(right)
        return memory

    def _allocate_constant(self, stmt: AllocateConst) -> None:
        import numpy as np

        data = np.ascontiguousarray(stmt.data).reshape(-1)
        dtype = stmt.dtype
        if dtype.element in HALVES:
            values = [str(bits) for bits in data.view(np.int16).tolist()]
        elif dtype.is_bool:
            values = [str(int(value)) for value in data.tolist()]
        else:
            values = [self.constant(value, dtype.element) for value in data.tolist()]
        name = self.module.constant_array(memory_type(dtype.element), values, len(values))
        self.variables[stmt.buffer_var] = name
        self.statement(stmt.body)
