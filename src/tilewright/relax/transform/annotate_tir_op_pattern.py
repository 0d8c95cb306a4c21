"""Writing down of each tensor program how its results depend on what it reads."""

from __future__ import annotations

from typing import Any, ClassVar

from tilewright.ir.function import BaseFunc
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import EachFunctionPass
from tilewright.relax.transform.fusion_graph import OP_PATTERN
from tilewright.schedule_rules.eligible import has_schedule
from tilewright.tir.analysis.pattern_kind import PatternKind, pattern_kind
from tilewright.tir.function import PrimFunc


class AnnotateTIROpPattern(EachFunctionPass):
    """Give each tensor program the attribute ``op_pattern``, a `PatternKind`.

    What has a schedule of its own is opaque: as a part of another function it would lose it. An
    attribute that is there already stays.
    """

    function_class: ClassVar[type[BaseFunc]] = PrimFunc

    def transform_function(self, func: Any, mod: IRModule, ctx: PassContext) -> Any:
        if OP_PATTERN in func.attrs:
            return func
        kind = PatternKind.OPAQUE if has_schedule(func) else pattern_kind(func)
        return func.with_attr(OP_PATTERN, int(kind))
