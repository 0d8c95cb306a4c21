"""A `State` as text: its loop nest, with the stages that are computed in loops of others inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.ir.expr import IntImm
from tilewright.te.operation import PlaceholderOp

if TYPE_CHECKING:
    from tilewright.auto_scheduler.stage_table import StageTable
    from tilewright.auto_scheduler.state_parts import Iterator

_INDENT = "  "


def state_text(state: StageTable) -> str:
    """One line per iterator, and one for what a stage computes."""
    stages = state.stages
    inputs = [stage.name for stage in stages if isinstance(stage.op, PlaceholderOp)]
    lines = [f"Placeholder: {', '.join(inputs)}"] if inputs else []
    for number, stage in enumerate(stages):
        if stage.compute_at == "root" and not isinstance(stage.op, PlaceholderOp):
            lines += _stage_lines(state, number, 0)
    return "\n".join(lines) + "\n"


def _stage_lines(state: StageTable, number: int, depth: int) -> list[str]:
    stage = state.stages[number]
    lines = [f"{_INDENT * depth}{stage.name} {mark}" for mark in _marks(state, number)]
    for iterator in stage.iters:
        lines.append(f"{_INDENT * depth}{_loop_text(iterator)}")
        depth += 1
        for other in state.attached(iterator, number):
            lines += _stage_lines(state, other, depth)
    return [*lines, f"{_INDENT * depth}{stage.name} = ..."]


def _marks(state: StageTable, number: int) -> list[str]:
    """What is said of a stage as a whole."""
    stage = state.te_stage(number)
    notes = [note for leaf in stage.leaf_iter_vars for note in stage.pragmas.get(leaf, {}).items()]
    steps = [_number(value) for name, value in notes if name == "pragma_auto_unroll_max_step"]
    aligned = [f"storage_offset: {offset}" for _, offset in stage.alignments.values()]
    return [*(f"auto_unroll: {count}" for count in steps), *aligned]


def _number(value: object) -> object:
    return value.value if isinstance(value, IntImm) else value


def _loop_text(iterator: Iterator) -> str:
    kind = "for" if iterator.annotation == "none" else iterator.annotation
    dom = iterator.range
    extent = "None" if dom is None else f"{dom.min},{dom.extent}"
    return f"{kind} {iterator.name} ({extent})"
