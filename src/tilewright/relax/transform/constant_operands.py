"""Which operands of kernels are constants in all calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import Call, Constant, Tuple
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.transform.fusion_graph import OP_PATTERN
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.tir.analysis.pattern_kind import PatternKind
from tilewright.tir.function import PrimFunc


def constant_operands(mod: IRModule) -> dict[GlobalVar, tuple[int, ...]]:
    """The operands of kernels that are constants in all calls, by their positions.

    Kernels that are called in another way, or exported, must take what they take now, and are left
    out; so are those whose operands no schedule packs.
    """
    calls: dict[GlobalVar, list[Call]] = {}
    mentioned: dict[GlobalVar, int] = {}
    for func in mod.functions.values():
        for node in walk(func):
            if isinstance(node, GlobalVar):
                mentioned[node] = mentioned.get(node, 0) + 1
            elif isinstance(node, Call) and node.op is CALL_TIR:
                kernel: Any = node.args[0]
                calls.setdefault(kernel, []).append(node)
    found = {}
    for var, callers in calls.items():
        func = mod[var]
        if len(callers) == mentioned[var] and func.global_symbol is None and _may_pack(func):
            found[var] = tuple(_positions(callers))
    return {var: positions for var, positions in found.items() if positions}


def with_constant_params(func: PrimFunc, positions: Sequence[int]) -> PrimFunc:
    """A function that says which of its parameters are constants in all calls."""
    return func.with_attr(CONSTANT_PARAMS, tuple(positions)) if positions else func


def _may_pack(func: PrimFunc) -> bool:
    """Whether a kernel is one that a schedule may pack an operand of."""
    return (
        (may_schedule(func) or CONSTANT_PARAMS in func.attrs)
        and int(func.attrs.get(OP_PATTERN, PatternKind.OPAQUE)) == PatternKind.OUT_EWISE_FUSABLE
        and bool(int(func.attrs.get("tir.noalias", 0)))
    )


def _positions(calls: Iterable[Call]) -> Iterable[int]:
    """The operands that are constants in all of `calls`."""
    operands = [call.args[1] for call in calls]
    fields = [item.fields for item in operands if isinstance(item, Tuple)]
    if len(fields) < len(operands):
        return
    for position, column in enumerate(zip(*fields, strict=True)):
        if all(isinstance(value, Constant) for value in column):
            yield position
