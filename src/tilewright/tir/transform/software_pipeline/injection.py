"""Iterations of a loop overlap, as annotations say.

With stages 0 and 1, the copy of the next tile runs beside the use of this one::

    for k in range(8):                          allocate tile[2, 64]
        allocate tile[64]                       copy A(0) to tile[0]
        copy A(k) to tile                       for k in range(7):
        use tile                     ->             copy A(k + 1) to tile[(k + 1) % 2]
                                                    use tile[k % 2]
                                                use tile[1]

A statement of stage `s` of iteration `k` runs in step `k + s`: before the loop the first steps, in
which later stages have nothing to do yet, after it the last ones. Memory that iterations have for
themselves is there as many times as iterations use it at the same time; ``double_buffer_scope``
asks for two at least.

The copies of an asynchronous stage form a group in each step, for which those wait that use them;
see `device.async_copies`.

Papers: Lam, Software pipelining: an effective scheduling technique for VLIW machines (PLDI 1988).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    DeclBuffer,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    nop,
    seq,
)
from tilewright.tir.transform.analysis.affine import expand
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.scoped_visitor import is_thread_of_block
from tilewright.tir.transform.building.statements import StatementRewriter, statements
from tilewright.tir.transform.software_pipeline.annotations import (
    DOUBLE_BUFFER,
    STATEMENT,
    Stages,
    stages_of,
    uses_of,
    without_stages,
    written_by,
)
from tilewright.tir.transform.software_pipeline.async_attributes import (
    ASYNC_COPIES,
    ASYNC_GROUP,
    ASYNC_WAIT,
)
from tilewright.tir.transform.software_pipeline.steps import Step
from tilewright.tir.transform.software_pipeline.versions import (
    Version,
    Versions,
    pitch_of,
)


def inject_software_pipeline(func: PrimFunc, *, asynchronous: bool = False) -> PrimFunc:
    """`func`, without blocks, with pipelines in place of the loops that annotations say it of.

    Args:
        func: a function whose statements of pipelines are marked.
        asynchronous: whether to say which copies may run in the background.

    Raises:
        LoweringError: for a loop whose iterations cannot overlap like that.
    """
    if not any(_is_mark(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_Unmarked()(_Pipelines(asynchronous)(func.body)))


def _is_mark(stmt: Stmt) -> bool:
    return isinstance(stmt, AttrStmt) and stmt.attr_key in (STATEMENT, DOUBLE_BUFFER)


class _Unmarked(StatementRewriter):
    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        return self(stmt.body) if _is_mark(stmt) else stmt.map_children(self)

    def For(self, loop: For) -> Stmt:
        changed = loop.map_children(self)
        return changed if stages_of(loop) is None else without_stages(changed)


class _Pipelines(StatementRewriter):
    def __init__(self, asynchronous: bool) -> None:
        self._asynchronous = asynchronous
        self._threads: list[For] = []

    def For(self, loop: For) -> Stmt:
        tag = loop.thread_binding.thread_tag if loop.thread_binding is not None else ""
        if is_thread_of_block(tag):
            self._threads.append(loop)
            loop = loop.map_children(self)
            self._threads.pop()
            return loop
        loop = loop.map_children(self)
        stages = stages_of(loop)
        if stages is None:
            return loop
        if not self._asynchronous:
            stages = stages._replace(asynchronous=frozenset())
        return pipelined(loop, stages, self._threads)


def pipelined(loop: For, stages: Stages, threads: Sequence[For]) -> Stmt:
    """A pipeline in place of `loop`, whose statements are marked.

    Args:
        loop: the loop; it stays as it is where it has too few iterations.
        stages: what is said of it.
        threads: the loops around over threads.

    Raises:
        LoweringError: if its iterations cannot overlap like that.
    """
    depth = max(stages.stage, default=0)
    if depth == 0 or (isinstance(loop.extent, IntImm) and loop.extent.value <= depth):
        return loop
    # Few programs have pipelines, and integer sets take long to load.
    from tilewright.tir.transform.software_pipeline.dependences import require_overlap

    memory, body = _peeled(loop.body)
    own = {stmt.buffer_var for stmt in memory if isinstance(stmt, Allocate)}
    steps = _steps(loop, body, stages)
    require_overlap(loop, steps, own, threads)
    loop = loop.replace(body=_with_versions(loop, steps, own))
    memory, body = _peeled(loop.body)
    result = _Overlap(loop, _steps(loop, body, stages), stages.asynchronous).pipeline()
    if not isinstance(loop.extent, IntImm):
        plain = without_stages(loop).replace(body=seq(*body))
        result = IfThenElse(as_expr(loop.extent > depth), result, Iteration({})(plain))
    for outer in reversed(memory):
        result = outer.replace(body=result)
    return result


def _peeled(body: Stmt) -> tuple[list[Allocate | DeclBuffer], list[Stmt]]:
    """The allocations among the statements of the body of a loop, and the statements."""
    memory: list[Allocate | DeclBuffer] = []

    def parts(stmt: Stmt) -> Iterator[Stmt]:
        if isinstance(stmt, (Allocate, DeclBuffer)):
            memory.append(stmt)
            yield from parts(stmt.body)
        elif isinstance(stmt, SeqStmt):
            for part in stmt.seq:
                yield from parts(part)
        else:
            yield stmt

    found = list(parts(body))
    return memory, found


def _steps(loop: For, parts: Sequence[Stmt], stages: Stages) -> list[Step]:
    """The statements of a pipeline, in the order in which they run beside each other.

    What lowering has put in front of a statement belongs to it.
    """
    found: list[Step] = []
    before: list[Stmt] = []
    for part in parts:
        before.append(part)
        if isinstance(part, AttrStmt) and part.attr_key == STATEMENT:
            number = int(part.value)  # type: ignore[call-overload]
            found.append(Step(number, stages.stage[number], stages.order[number], seq(*before)))
            before = []
    if before or not found:
        raise LoweringError(
            f"loop {loop.loop_var.name} cannot be a pipeline: its statements stand under a "
            "condition, or in a definition"
        )
    return sorted(found, key=lambda step: step.order)


# --- memory ---------------------------------------------------------------------------------


def _with_versions(loop: For, steps: Sequence[Step], own: set[Var]) -> Stmt:
    """The body of a loop, whose iterations have versions of their own memory."""
    versions: dict[Var, Version] = {}
    for memory in own:
        count = _count(memory, steps, loop)
        if count == 1:
            continue
        try:
            pitch = pitch_of(loop.body, memory)
        except ValueError:
            raise LoweringError(
                f"loop {loop.loop_var.name} cannot be a pipeline: {memory.name} is accessed by "
                f"buffers of different layouts, so that there cannot be {count} of it"
            ) from None
        number = as_expr((loop.loop_var - loop.min) % count)
        versions[memory] = Version(const(count, loop.loop_var.dtype), number, pitch)
    return Versions(versions)(loop.body) if versions else loop.body


def _count(memory: Var, steps: Sequence[Step], loop: For) -> int:
    """How many iterations use memory of their own at the same time."""
    users = [step for step in steps if memory in uses_of(step.stmt)]
    count = 1
    for first in users:
        for last in users:
            # The first use by a later iteration comes after the last one by this iteration.
            count = max(count, last.stage - first.stage + (first.order <= last.order))
    return max(count, 2) if _is_doubled(memory, loop) else count


def _is_doubled(memory: Var, loop: For) -> bool:
    return any(
        isinstance(stmt, AttrStmt) and stmt.attr_key == DOUBLE_BUFFER and stmt.node is memory
        for stmt in statements(loop.body)
    )


# --- steps ----------------------------------------------------------------------------------


class _Moment(NamedTuple):
    """When steps run: before the loop, in it, or after it.

    Attributes:
        number: of the step before the loop, or after it; None in the loop.
        is_after: whether it is after it.
    """

    number: int | None
    is_after: bool = False

    def has(self, stage: int) -> bool:
        """Whether statements of a stage have an iteration to work for."""
        if self.number is None:
            return True
        return self.number < stage if self.is_after else self.number >= stage

    def groups_since(self, copied: int, used: int) -> int:
        """How many groups of copies follow the one that a statement uses, before this step.

        Args:
            copied: the stage of the copies.
            used: the stage of the statement.
        """
        if not self.is_after or self.number is None:
            return used - copied - 1
        return min(self.number, copied) - 1 - (self.number - used + copied)


class _Overlap:
    """The statements of a pipeline before, in and after its loop."""

    def __init__(self, loop: For, steps: Sequence[Step], asynchronous: frozenset[int]) -> None:
        self._loop, self._steps = loop, steps
        self._asynchronous = asynchronous
        self._depth = max(step.stage for step in steps)
        self._copies = [step for step in steps if step.stage in asynchronous]
        self._last_copy = max((step.order for step in self._copies), default=-1)

    def pipeline(self) -> Stmt:
        """All steps."""
        loop, depth = self._loop, self._depth
        dtype = loop.loop_var.dtype
        before = [self._step(_Moment(n), const(n, dtype)) for n in range(depth)]
        after = [
            self._step(_Moment(n, is_after=True), as_expr(loop.extent + n)) for n in range(depth)
        ]
        step = Var(loop.loop_var.name, dtype)
        body = self._step(_Moment(None), as_expr(step + depth))
        count = as_expr(loop.extent - depth)
        inside = without_stages(loop).replace(
            loop_var=step, min=const(0, dtype), extent=count, body=body
        )
        if is_const_int(count, 1):
            inside = Iteration({step: const(0, dtype)})(body)
        return seq(*before, inside, *after)

    def _step(self, moment: _Moment, time: Expr) -> Stmt:
        """What runs beside each other at a time, counted in steps from the first one."""
        present = [step for step in self._steps if moment.has(step.stage)]
        groups = [number for step in present for number in self._groups_since(step, moment)]
        # At the start, so that threads which wait for each other then have also used what the
        # copies of this step replace.
        parts = [_attribute(ASYNC_WAIT, min(groups))] if groups else []
        for step in present:
            iteration = expand(as_expr(self._loop.min + time - step.stage))
            stmt = Iteration({self._loop.loop_var: iteration})(step.stmt)
            is_copy = step.stage in self._asynchronous
            parts.append(AttrStmt(const(0), ASYNC_COPIES, const(1), stmt) if is_copy else stmt)
            if step.order == self._last_copy:
                parts.append(_attribute(ASYNC_GROUP, step.stage))
        return seq(*parts)

    def _groups_since(self, step: Step, moment: _Moment) -> list[int]:
        """How many groups may be on the way when a step runs, for each stage that it copies in."""
        used = uses_of(step.stmt)
        found: list[int] = []
        for copy in self._copies:
            if copy is step or used.isdisjoint(written_by(copy.stmt)):
                continue
            if copy.stage >= step.stage:
                raise LoweringError(
                    f"loop {self._loop.loop_var.name} cannot be a pipeline: statement "
                    f"{step.number} of stage {step.stage} uses what statement {copy.number} copies "
                    f"in the background in stage {copy.stage}; give it a later stage"
                )
            # Groups of several stages are on the way together.
            several = len(self._asynchronous) > 1
            found.append(0 if several else moment.groups_since(copy.stage, step.stage))
        return found


def _attribute(key: str, value: int) -> Stmt:
    return AttrStmt(const(0), key, const(value), nop())
