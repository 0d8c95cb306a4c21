"""What annotations say of a pipeline, and which statements of its loop they mean.

``software_pipeline_stage`` and ``software_pipeline_order`` have a number for each statement of the
body of a loop, in their order there; ``software_pipeline_async_stages`` names stages. A block with
``double_buffer_scope`` is stage 0 of the innermost loop around it in which another statement uses
what it writes, and the other statements are stage 1.

Blocks become loops and branches when they are lowered, so each statement is marked before.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.convert import as_attribute, attributes, const
from tilewright.ir.expr import IntImm, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.transform.building.statements import statements

STAGE: Final = "software_pipeline_stage"
ORDER: Final = "software_pipeline_order"
ASYNC_STAGES: Final = "software_pipeline_async_stages"
DOUBLE_BUFFER: Final = "double_buffer_scope"
STATEMENT: Final = "software_pipeline_statement"
"""The attribute of a statement of a pipeline, its number."""


class Stages(NamedTuple):
    """What is said of a pipeline.

    Attributes:
        stage: of each statement of the loop.
        order: the place of each statement among those that run beside each other.
        asynchronous: the stages whose copies run in the background.
    """

    stage: tuple[int, ...]
    order: tuple[int, ...]
    asynchronous: frozenset[int]


def mark_pipelines(func: PrimFunc) -> PrimFunc:
    """`func` with marks on the statements of pipelines.

    Raises:
        LoweringError: for annotations of another form than the loop has.
    """
    if not any(_is_annotated(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_Marking()(func.body))


def _is_annotated(stmt: Stmt) -> bool:
    if isinstance(stmt, For):
        return STAGE in stmt.annotations or ORDER in stmt.annotations
    return isinstance(stmt, BlockRealize) and DOUBLE_BUFFER in stmt.block.annotations


class _Marking(Rewriter):
    """Marks the statements of pipelines.

    What blocks write that are to have two buffers, and belong to no pipeline yet, is collected.
    """

    def __init__(self) -> None:
        self._doubled: set[Var] = set()

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        realize = realize.map_children(self)
        block = realize.block
        place = block.annotations.get(DOUBLE_BUFFER)
        if place is None:
            return realize
        if not isinstance(place, IntImm) or not 0 <= place.value < len(block.writes):
            raise LoweringError(
                f"block {block.name_hint}: {DOUBLE_BUFFER} is the place of a buffer among those "
                f"that it writes, got {place!r}"
            )
        data = block.writes[place.value].buffer.data
        self._doubled.add(data)
        return AttrStmt(data, DOUBLE_BUFFER, const(1), realize)

    def For(self, loop: For) -> Stmt:
        loop = loop.map_children(self)
        if STAGE not in loop.annotations and ORDER not in loop.annotations:
            loop = self._with_two_buffers(loop)
        if STAGE not in loop.annotations and ORDER not in loop.annotations:
            return loop
        count = len(_parts(loop.body))
        _require_stages(loop, count)
        return loop.replace(body=_marked(loop.body))

    def _with_two_buffers(self, loop: For) -> For:
        """A loop that fills a buffer while it uses another one, if it should."""
        parts = _parts(loop.body) if self._doubled and loop.kind is ForKind.SERIAL else []
        filled = [self._doubled & written_by(part) for part in parts]
        doubled = set().union(*filled)
        uses = [part for part, own in zip(parts, filled, strict=True) if not own]
        if not any(doubled & uses_of(part) for part in uses):
            return loop
        self._doubled -= doubled
        stages = {STAGE: [0 if own else 1 for own in filled]}
        return loop.replace(annotations=attributes({**loop.annotations, **stages}))


def written_by(stmt: Stmt) -> set[Var]:
    """The memory that a statement writes to."""
    return {store.buffer.data for store in statements(stmt) if isinstance(store, BufferStore)}


def _parts(body: Stmt) -> list[Stmt]:
    """The statements of the body of a loop; a block stands for what it has inside."""
    if isinstance(body, SeqStmt):
        return list(body.seq)
    if isinstance(body, BlockRealize) and isinstance(body.block.body, (SeqStmt, BlockRealize)):
        return _parts(body.block.body)
    return [body]


def _marked(body: Stmt) -> Stmt:
    if isinstance(body, BlockRealize) and isinstance(body.block.body, (SeqStmt, BlockRealize)):
        return body.replace(block=body.block.replace(body=_marked(body.block.body)))
    marks = [
        AttrStmt(const(0), STATEMENT, const(number), part)
        for number, part in enumerate(_parts(body))
    ]
    return seq(*marks)


# --- what annotations say -------------------------------------------------------------------


def stages_of(loop: For) -> Stages | None:
    """What is said of `loop` as a pipeline, if it is one."""
    stage = loop.annotations.get(STAGE)
    if stage is None:
        return None
    stage = _numbers(stage)
    order = _numbers(loop.annotations.get(ORDER)) or tuple(range(len(stage)))
    return Stages(stage, order, frozenset(_numbers(loop.annotations.get(ASYNC_STAGES))))


def without_stages(loop: For) -> For:
    """`loop` without what makes a pipeline of it."""
    kept = {
        key: value
        for key, value in loop.annotations.items()
        if key not in (STAGE, ORDER, ASYNC_STAGES)
    }
    return loop.replace(annotations=attributes(kept))


def _numbers(value: Any) -> tuple[int, ...]:
    value = as_attribute(value)
    items = value if isinstance(value, tuple) else ()
    return tuple(item.value if isinstance(item, IntImm) else -1 for item in items)


def _require_stages(loop: For, count: int) -> None:
    """Refuse annotations that do not fit a loop of `count` statements."""
    where = f"loop {loop.loop_var.name}"
    if loop.kind is not ForKind.SERIAL:
        raise LoweringError(
            f"{where} is of kind {loop.kind.name.lower()}; only the iterations of a serial loop "
            "overlap as a pipeline"
        )
    stages = stages_of(loop)
    if stages is None:
        raise LoweringError(f"{where} has {ORDER}, and {STAGE} is missing")
    for key, numbers in ((STAGE, stages.stage), (ORDER, stages.order)):
        if len(numbers) != count:
            raise LoweringError(
                f"{where}: {key} has {len(numbers)} numbers, one for each statement of the loop, "
                f"and there are {count}"
            )
    if min(stages.stage, default=0) < 0:
        raise LoweringError(f"{where}: {STAGE} is {list(stages.stage)}; stages count from 0")
    if sorted(stages.order) != list(range(count)):
        raise LoweringError(
            f"{where}: {ORDER} is {list(stages.order)}; each of the numbers from 0 to {count - 1} "
            "is the place of one statement"
        )
    unknown = stages.asynchronous - set(stages.stage)
    if unknown:
        raise LoweringError(
            f"{where}: {ASYNC_STAGES} names stage {min(unknown)}, which no statement has"
        )


def uses_of(stmt: Stmt) -> set[Var]:
    """The memory that a statement accesses."""
    return {node.buffer.data for node in walk(stmt) if isinstance(node, (BufferLoad, BufferStore))}
