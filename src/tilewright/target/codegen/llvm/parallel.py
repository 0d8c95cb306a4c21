"""Parallel loops: the body becomes a function that runs a range of iterations.

Variables of the surrounding function that the body uses are copied into a closure, a structure on
the stack of the thread that starts the loop. Parallel loops inside the body run serially, and so
does a loop that has so little work that threads would not pay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from tilewright.ir.arithmetic import maximum
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import FLOAT64, INT64
from tilewright.ir.expr import (
    Call,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    Ramp,
    Var,
    is_const_int,
)
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.target.codegen.llvm.addresses import index_operand
from tilewright.target.codegen.llvm.allocations import with_memory
from tilewright.target.codegen.llvm.emitter import Closure, FunctionEmitter
from tilewright.target.codegen.llvm.helper_functions import POOL, has_pool
from tilewright.target.codegen.llvm.statements import leave_if_failed
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.parallel_schedule import ParallelSchedule, parallel_schedule
from tilewright.tir.stmt import (
    Allocate,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)
from tilewright.tir.substitute import substitute, variables_of

OPERATION: Final = 1
MEMORY_ACCESS: Final = 2
DIVISION: Final = 10
FUNCTIONS: Final = ("tir.call_extern", "tir.call_pure_extern", "tir.tvm_call_packed_lowered")


class _UnknownError(Exception):
    """The work depends on values that are not known in front of the loop."""


def iteration_work(
    loop: For, vector_bits: int, known: dict[Node, float | Expr | None]
) -> Expr | None:
    """The work of an average iteration of `loop`, in float64, about in cycles of a processor.

    Operations count as often as the loops around them run; cache misses do not count. It mentions
    only variables that are known in front of the loop. None if there is no such estimate: the body
    calls functions, or its work depends on values that it computes.

    `known` remembers the work of loops and expressions, as copies of a loop's body share
    expressions, and many ask about loops that are inside of each other.
    """
    try:
        work = _as_expr(_Estimate(vector_bits, known).of_iteration(loop))
    except _UnknownError:
        return None
    work = substitute(work, {loop.loop_var: _middle(loop)})
    if any(isinstance(node, (BufferLoad, Call)) for node in walk(work)):
        return None
    variables = set(variables_of(work))
    return work if not variables or variables.isdisjoint(_bound_inside(loop.body)) else None


def _bound_inside(body: Stmt) -> Iterator[Var]:
    for node in walk(body):
        if isinstance(node, For):
            yield node.loop_var
        elif isinstance(node, (LetStmt, Let)):
            yield node.var


def _middle(loop: For) -> Expr:
    """The value of the loop variable halfway."""
    return as_expr(loop.min + loop.extent // const(2, loop.extent.dtype))


def _as_expr(work: float | Expr) -> Expr:
    return work if isinstance(work, Expr) else const(work, FLOAT64)


class _Estimate:
    """The work of statements: a number where it can be, as that is much less to do."""

    def __init__(self, vector_bits: int, known: dict[Node, float | Expr | None]) -> None:
        self._vector_bits = max(vector_bits, 64)
        self._known = known

    def of_iteration(self, loop: For) -> float | Expr:
        """The work of the body of a loop."""
        if loop not in self._known:
            self._known[loop] = None
            self._known[loop] = self.of(loop.body)
        found = self._known[loop]
        if found is None:
            raise _UnknownError
        return found

    def of(self, stmt: Stmt) -> float | Expr:
        """The work of a statement."""
        if isinstance(stmt, BufferStore):
            access = self._access(stmt.buffer, stmt.indices[0])
            return self._operations(stmt.value) + access
        if isinstance(stmt, For):
            return self._loop(stmt)
        if isinstance(stmt, LetStmt):
            body = self.of(stmt.body)
            if isinstance(body, Expr):
                body = substitute(body, {stmt.var: stmt.value})
            return body + self._operations(stmt.value)
        if isinstance(stmt, While):
            raise _UnknownError
        total: float | Expr = 0.0
        for child in stmt.children():
            if isinstance(child, Stmt):
                total = total + self.of(child)
        if isinstance(stmt, IfThenElse):
            total = total + self._operations(stmt.condition)
        elif isinstance(stmt, Evaluate):
            total = total + self._operations(stmt.value)
        return total

    def _loop(self, loop: For) -> float | Expr:
        body = self.of_iteration(loop) + float(OPERATION)
        if isinstance(body, float) and isinstance(loop.extent, IntImm):
            return body * max(loop.extent.value, 0)
        body = substitute(_as_expr(body), {loop.loop_var: _middle(loop)})
        count = cast(FLOAT64, maximum(loop.extent, const(0, loop.extent.dtype)))
        return as_expr(body * count)

    def _operations(self, expr: Expr) -> float:
        """The work of an expression; indices are free."""
        found = self._known.get(expr)
        if isinstance(found, float):
            return found
        if isinstance(expr, BufferLoad):
            found = self._known[expr] = self._access(expr.buffer, expr.indices[0])
            return found
        if isinstance(expr, Call) and (not isinstance(expr.op, Op) or expr.op.name in FUNCTIONS):
            raise _UnknownError
        operands = [child for child in expr.children() if isinstance(child, Expr)]
        if not operands:
            return 0.0
        unit = DIVISION if isinstance(expr, (Div, FloorDiv, FloorMod, Mod)) else OPERATION
        own = unit * self._registers(expr.dtype.lanes * expr.dtype.bits)
        found = self._known[expr] = sum(map(self._operations, operands)) + own
        return found

    def _access(self, buffer: Buffer, index: Expr) -> float:
        neighbours = isinstance(index, Ramp) and is_const_int(index.stride, 1)
        if neighbours or index.dtype.lanes == 1:
            bits = index.dtype.lanes * buffer.dtype.lanes * buffer.dtype.bits
            return MEMORY_ACCESS * self._registers(bits)
        return MEMORY_ACCESS * float(index.dtype.lanes)

    def _registers(self, bits: int) -> float:
        return float(max(-(-bits // self._vector_bits), 1))


LEAST_WORK: Final = 10_000
"""Cycles of work from which an additional thread pays."""

FINE_WORK: Final = 50_000
"""Minimum of cycles of a part, if threads take several: taking one is then cheap beside it."""


# --- the surrounding function ----------------------------------------------------------------


def parallel_loop(emitter: FunctionEmitter, stmt: For) -> bool:
    """Write a loop that runs on the thread pool; False if it has to run serially."""
    alone = isinstance(stmt.extent, IntImm) and stmt.extent.value <= 1
    target = emitter.module.target
    if (
        alone
        or emitter.closure is not None
        or target.attrs.get("num-cores") == 1
        or not has_pool(target)
    ):
        return False
    schedule = parallel_schedule(stmt)
    least, fine = _sizes_of_parts(emitter, stmt, schedule)
    if isinstance(stmt.extent, IntImm) and least.isdigit():
        parts = stmt.extent.value / int(least)
        if parts <= 1 or (parts < 2 and not schedule.dynamic):
            return False
    start, extent = index_operand(emitter, stmt.min), index_operand(emitter, stmt.extent)
    end = extent if start == "0" else emitter.pure(f"add i64 {start}, {extent}", start, extent)
    closure = Closure(emitter)
    name = _body_function(FunctionEmitter(emitter.module, closure), closure, stmt)
    address = closure.write()
    emitter.module.needs_thread_pool = True
    emitter.module.declare(POOL, "i32", ("ptr", "ptr", "i64", "i64", "i64", "i64", "i32", "i1"))
    cores, dynamic = target.attrs.get("num-cores", 0), str(schedule.dynamic).lower()
    status = emitter.value(
        f"call i32 @{POOL}(ptr {name}, ptr {address}, i64 {start}, i64 {end}, i64 {least}, "
        f"i64 {fine}, i32 {cores}, i1 {dynamic})"
    )
    leave_if_failed(emitter, status)
    return True


def _sizes_of_parts(
    emitter: FunctionEmitter, stmt: For, schedule: ParallelSchedule
) -> tuple[str, str]:
    """Numbers of iterations from which a thread pays, and from which it is given several parts."""
    if schedule.chunk is not None:
        return str(schedule.chunk), "1"
    work = iteration_work_of(emitter, stmt)
    if work is None:
        return "1", "1"
    return iterations_of(emitter, LEAST_WORK, work), iterations_of(emitter, FINE_WORK, work)


def iteration_work_of(emitter: FunctionEmitter, loop: For) -> Expr | None:
    """The work of an iteration of `loop`, see `iteration_work`."""
    module = emitter.module
    work = iteration_work(loop, module.target.vector_bits, module.works)
    return None if work is None else emitter.analyzer.simplify(work)


def iterations_of(emitter: FunctionEmitter, total: int, work: Expr) -> str:
    """The number of iterations of that much work that take `total` cycles."""
    # An iteration of no work counts as one.
    if isinstance(work, FloatImm):
        return str(max(math.ceil(total / max(work.value, 1)), 1))
    count = const(float(total), FLOAT64) / maximum(work, const(1.0, FLOAT64))
    return index_operand(emitter, as_expr(cast(INT64, count) + 1))


# --- the body --------------------------------------------------------------------------------


def _body_function(emitter: FunctionEmitter, closure: Closure, stmt: For) -> str:
    """The name of a new function that runs a part of the iterations."""
    emitter.analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
    _iterations(emitter, stmt, stmt.body)
    emitter.effect("ret i32 0")
    lines = "\n".join(["entry:", *emitter.entry, *emitter.region.lines])
    pointers = [f"ptr noalias {register}" for register, _ in closure.pointers]
    signature = "ptr %closure, i64 %begin, i64 %end"
    name = emitter.module.add_part((", ".join([signature, *pointers]), lines))
    if pointers:
        name = emitter.module.add_part((signature, _call_with_pointers(name, closure)))
    return name


def _iterations(emitter: FunctionEmitter, stmt: For, body: Stmt) -> None:
    """The loop over a part; allocations of the body are hoisted in front of it."""
    if isinstance(body, Allocate) and stmt.loop_var not in {
        var for extent in body.extents for var in variables_of(extent)
    }:
        with_memory(emitter, body, lambda: _iterations(emitter, stmt, body.body))
        return
    # The pool runs no empty parts.
    with emitter.counted_loop("%begin", "%end", runs_at_least_once=True) as counter:
        emitter.variables[stmt.loop_var] = emitter.loop_variable(counter, stmt.loop_var.dtype)
        emitter.statement(body)


def _call_with_pointers(body: str, closure: Closure) -> str:
    """A call of the body with pointers of the closure as arguments.

    Only arguments can be said to have no alias.
    """
    lines, arguments = ["entry:"], ["ptr %closure, i64 %begin, i64 %end"]
    for number, (_, offset) in enumerate(closure.pointers):
        lines.append(f"  %slot{number} = getelementptr i8, ptr %closure, i64 {offset}")
        lines.append(f"  %pointer{number} = load ptr, ptr %slot{number}, align 8")
        arguments.append(f"ptr %pointer{number}")
    lines.append(f"  %status = call i32 {body}({', '.join(arguments)})")
    return "\n".join([*lines, "  ret i32 %status"])
