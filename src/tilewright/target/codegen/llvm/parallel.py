"""Parallel loops: the body becomes a function that runs a range of iterations.

Variables of the surrounding function that the body uses are copied into a closure, a structure on
the stack of the thread that starts the loop. Parallel loops inside the body run serially, and so
does a loop that has so little work that threads would not pay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tilewright.error import CodegenError
from tilewright.ir.arithmetic import maximum
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import FLOAT64, INT64, DType
from tilewright.ir.expr import Call, Expr, FloatImm, IntImm, Var
from tilewright.target.codegen.llvm.calls import Calls
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.threads import POOL, has_pool
from tilewright.target.codegen.llvm.types import HALVES, value_type
from tilewright.target.codegen.llvm.work import iteration_work
from tilewright.tir.parallel_schedule import ParallelSchedule, parallel_schedule
from tilewright.tir.stmt import Allocate, For, Stmt
from tilewright.tir.substitute import variables_of

LEAST_WORK: Final = 10_000
"""Cycles of work for which a thread is used: what sharing it costs, and a bit more."""

FINE_WORK: Final = 100_000
"""Cycles of a part at least, if a thread has several: what it costs to take one is nothing then."""


class Captured(NamedTuple):
    """A value of the surrounding function that the body uses."""

    kind: str
    register: str
    """In the surrounding function."""
    offset: int
    """In the closure."""


class Parallel(Calls):
    """Adds parallel loops to the calls."""

    def __init__(self, module: ModuleText, parent: Parallel | None = None) -> None:
        super().__init__(module)
        self._parent = parent
        if parent is not None:
            self.analyzer = parent.analyzer  # what is known outside holds inside
        self.unaliased: set[str] = set()
        """Registers with pointers to memory that is reached in no other way."""
        self._closure: list[Captured] = []
        self._closure_size = 0
        self._pointers: list[tuple[str, int]] = []
        """Registers and offsets in the closure of pointers that have no alias."""

    def statement(self, stmt: Stmt) -> None:
        """Write a statement; given by `control.Control`."""
        raise NotImplementedError

    def with_memory(self, stmt: Allocate, write: Callable[[], None]) -> None:
        """What `write` writes, with memory for an allocation; given by `control.Control`."""
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
        schedule = parallel_schedule(stmt)
        least, fine = self._sizes_of_parts(stmt, schedule)
        if isinstance(stmt.extent, IntImm) and least.isdigit():
            parts = stmt.extent.value / int(least)
            if parts <= 1 or (parts < 2 and not schedule.dynamic):
                return False
        start, extent = self.index(stmt.min), self.index(stmt.extent)
        end = extent if start == "0" else self.pure(f"add i64 {start}, {extent}", start, extent)
        body = type(self)(self.module, self)
        name, closure = body.body_function(stmt)
        self.module.needs_thread_pool = True
        self.module.declare(POOL, "i32", ("ptr", "ptr", "i64", "i64", "i64", "i64", "i32", "i1"))
        cores, dynamic = target.attrs.get("num-cores", 0), str(schedule.dynamic).lower()
        status = self.value(
            f"call i32 @{POOL}(ptr {name}, ptr {closure}, i64 {start}, i64 {end}, i64 {least}, "
            f"i64 {fine}, i32 {cores}, i1 {dynamic})"
        )
        self.leave_if_failed(status)
        return True

    def _sizes_of_parts(self, stmt: For, schedule: ParallelSchedule) -> tuple[str, str]:
        """How many iterations make it worth to use a thread, and to give it several parts."""
        if schedule.chunk is not None:
            return str(schedule.chunk), "1"
        work = iteration_work(stmt, self.module.target.vector_bits)
        if work is None:
            return "1", "1"
        work = self.analyzer.simplify(work)
        return self._iterations_of(LEAST_WORK, work), self._iterations_of(FINE_WORK, work)

    def _iterations_of(self, total: int, work: Expr) -> str:
        """How many iterations of that much work take `total` cycles."""
        # An iteration of no work counts as one.
        if isinstance(work, FloatImm):
            return str(max(math.ceil(total / max(work.value, 1)), 1))
        count = const(float(total), FLOAT64) / maximum(work, const(1.0, FLOAT64))
        return self.index(as_expr(cast(INT64, count) + 1))

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
        """The function that runs a part of the iterations, and the closure that it takes."""
        assert self._parent is not None
        self.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
        self._iterations(stmt, stmt.body)
        self.effect("ret i32 0")
        lines = "\n".join(["entry:", *self.entry, *self.region.lines])
        pointers = [f"ptr noalias {register}" for register, _ in self._pointers]
        signature = "ptr %closure, i64 %begin, i64 %end"
        name = self.module.add_part((", ".join([signature, *pointers]), lines))
        if pointers:
            name = self.module.add_part((signature, self._call_with_pointers(name)))
        return name, self._parent.write_closure(self._closure, self._closure_size)

    def _iterations(self, stmt: For, body: Stmt) -> None:
        """The loop over a part; memory that each iteration would take is taken once in front."""
        if isinstance(body, Allocate) and stmt.loop_var not in {
            var for extent in body.extents for var in variables_of(extent)
        }:
            self.with_memory(body, lambda: self._iterations(stmt, body.body))
            return
        # The pool runs no empty parts.
        with self.counted_loop("%begin", "%end", runs_at_least_once=True) as counter:
            self.variables[stmt.loop_var] = self.loop_variable(counter, stmt.loop_var.dtype)
            self.statement(body)

    def _call_with_pointers(self, body: str) -> str:
        """A call of the body with pointers of the closure as arguments.

        Only arguments can be said to have no alias.
        """
        lines, arguments = ["entry:"], ["ptr %closure, i64 %begin, i64 %end"]
        for number, (_, offset) in enumerate(self._pointers):
            lines.append(f"  %slot{number} = getelementptr i8, ptr %closure, i64 {offset}")
            lines.append(f"  %pointer{number} = load ptr, ptr %slot{number}, align 8")
            arguments.append(f"ptr %pointer{number}")
        lines.append(f"  %status = call i32 {body}({', '.join(arguments)})")
        return "\n".join([*lines, "  ret i32 %status"])

    def write_closure(self, values: Sequence[Captured], size: int) -> str:
        """A closure on the stack with these values."""
        closure = self.fresh("%closure")
        self.entry.append(f"  {closure} = alloca [{max(size, 1)} x i8], align 8")
        for value in values:
            slot = self.pure(f"getelementptr i8, ptr {closure}, i64 {value.offset}", closure)
            self.effect(f"store {value.kind} {value.register}, ptr {slot}, align 8")
        return closure

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
        assert self._parent is not None
        if not value.startswith("%"):
            return value
        kind, offset = value_type(dtype), self._closure_size
        itemsize = 4 if dtype.element in HALVES else max(dtype.bits // 8, 1)
        self._closure_size += -(-itemsize * dtype.lanes // 8) * 8
        self._closure.append(Captured(kind, value, offset))
        register = self.fresh("%outer")
        if value in self._parent.unaliased:
            self._pointers.append((register, offset))
            return register
        slot = self.fresh("%slot")
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
