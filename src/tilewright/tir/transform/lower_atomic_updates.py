"""Updates of blocks that are annotated as atomic become atomic additions."""

from __future__ import annotations

from tilewright.error import LoweringError
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.analysis.atomic_updates import atomic_update, is_atomic
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.memory import atomic_add
from tilewright.tir.stmt import Block, Evaluate, IfThenElse, Stmt
from tilewright.tir.transform.building.statements import statements


def lower_atomic_updates(func: PrimFunc) -> PrimFunc:
    """`func`, with blocks, in which blocks that are annotated as atomic add by `atomic_add`.

    Raises:
        LoweringError: for such a block that does something else than to add.
    """
    if not any(map(is_atomic, statements(func.body))):
        return func
    return func.with_body(_Atomic()(func.body))


class _Atomic(Rewriter):
    def Block(self, block: Block) -> Stmt:
        if not is_atomic(block):
            return block.map_children(self)
        update = atomic_update(block)
        if isinstance(update, str):
            raise LoweringError(f"block {block.name_hint} is annotated as atomic, but {update}")
        body: Stmt = Evaluate(atomic_add(update.target, update.value))
        if update.condition is not None:
            body = IfThenElse(update.condition, body)
        return block.replace(body=body)
