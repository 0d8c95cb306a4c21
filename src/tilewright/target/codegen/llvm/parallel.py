"""Parallel loops: the body becomes a function that runs a range of iterations.

Variables of the surrounding function that the body uses are copied into a closure, a structure on
the stack of the thread that starts the loop. Parallel loops inside the body run serially.
"""

from __future__ import annotations

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, IntImm, Var
from tilewright.target.codegen.llvm.calls import Calls
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.threads import POOL, has_pool
from tilewright.target.codegen.llvm.types import HALVES, value_type
from tilewright.tir.stmt import For, Stmt


class Parallel(Calls):
    """Adds parallel loops to the calls."""

    def __init__(self, module: ModuleText, parent: Parallel | None = None) -> None:
        super().__init__(module)
        self._parent = parent
        if parent is not None:
            self.analyzer = parent.analyzer  # what is known outside holds inside
        self._closure: list[tuple[str, str, int]] = []
        """Type, register of the parent, and offset of what the closure holds."""
        self._closure_size = 0

    def statement(self, stmt: Stmt) -> None:
        """Write a statement; given by `control.Control`."""
        raise NotImplementedError

    # --- the surrounding function -------------------------------------------------------------

    def parallel_loop(self, stmt: For) -> bool:
        """Write a loop that runs on the thread pool; False where it must run here."""
        alone = isinstance(stmt.extent, IntImm) and stmt.extent.value <= 1
        target = self.module.target
        if (
            alone
            or self._parent is not None
            or target.attrs.get("num-cores") == 1
            or not has_pool(target)
        ):
            return False
        start, extent = self.index(stmt.min), self.index(stmt.extent)
        end = extent if start == "0" else self.pure(f"add i64 {start}, {extent}", start, extent)
        body = type(self)(self.module, self)
        name = self.module.add_part(body.body_function(stmt))
        size = max(body._closure_size, 1)
        closure = self.fresh("%closure")
        self.entry.append(f"  {closure} = alloca [{size} x i8], align 8")
        for kind, register, offset in body._closure:
            slot = self.pure(f"getelementptr i8, ptr {closure}, i64 {offset}", closure)
            self.effect(f"store {kind} {register}, ptr {slot}, align 8")
        self.module.needs_thread_pool = True
        self.module.declare(POOL, "i32", ("ptr", "ptr", "i64", "i64", "i32"))
        cores = target.attrs.get("num-cores", 0)
        status = self.value(
            f"call i32 @{POOL}(ptr {name}, ptr {closure}, i64 {start}, i64 {end}, i32 {cores})"
        )
        self.leave_if_failed(status)
        return True

    def leave_if_failed(self, status: str) -> None:
        """Leave the function if a status is not 0: an error is registered then."""
        failed = self.value(f"icmp ne i32 {status}, 0")
        wrong, right = self.label("failed"), self.label("returned")
        self.branch(failed, wrong, right)
        self.start_block(wrong)
        self.leave("-1")
        self.effect("unreachable")
        self.start_block(right)

    # --- the body -----------------------------------------------------------------------------

    def body_function(self, stmt: For) -> tuple[str, str]:
        """The parameters and the text of the function that runs a part of the iterations."""
        self.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
        with self.counted_loop("%begin", "%end", runs_at_least_once=False) as counter:
            self.variables[stmt.loop_var] = self.loop_variable(counter, stmt.loop_var.dtype)
            self.statement(stmt.body)
        self.effect("ret i32 0")
        lines = "\n".join(["entry:", *self.entry, *self.region.lines])
        return "ptr %closure, i64 %begin, i64 %end", lines

    def loop_variable(self, counter: str, dtype: DType) -> str:
        """A loop counter in the dtype of its variable; i64 where it is used as an index."""
        if dtype.bits == 64:
            return counter
        ty = value_type(dtype)
        narrow = self.pure(f"trunc i64 {counter} to {ty}", counter)
        # Extending it again gives the counter itself.
        self.region.known[f"{'sext' if dtype.is_int else 'zext'} {ty} {narrow} to i64"] = counter
        return narrow

    def variable(self, var: Var) -> str:
        register = self.variables.get(var)
        if register is None and self._parent is not None:
            value = self._parent.variable(var)
            register = self.variables[var] = self._captured(value, var.dtype)
        return super().variable(var) if register is None else register

    def _captured(self, value: str, dtype: DType) -> str:
        """The `value` of the surrounding function, here."""
        if not value.startswith("%"):
            return value
        kind, offset = value_type(dtype), self._closure_size
        itemsize = 4 if dtype.element in HALVES else max(dtype.bits // 8, 1)
        self._closure_size += -(-itemsize * dtype.lanes // 8) * 8
        self._closure.append((kind, value, offset))
        slot, register = self.fresh("%slot"), self.fresh("%outer")
        self.entry.append(f"  {slot} = getelementptr i8, ptr %closure, i64 {offset}")
        self.entry.append(f"  {register} = load {kind}, ptr {slot}, align 8")
        return register

    def call_ret(self, call: Call) -> str:
        if self._parent is not None and not _is_failure(call):
            raise CodegenError("target llvm: only errors leave the function from a parallel loop")
        return super().call_ret(call)


def _is_failure(call: Call) -> bool:
    """Whether a `ret` returns the status of an error, which is registered already."""
    return any(isinstance(arg, IntImm) and arg.value != 0 for arg in call.args)
