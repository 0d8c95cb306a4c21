"""Whether two versions of a statement run the same instances in the same order."""

from __future__ import annotations

from typing import Any, Final

from tilewright.tir.stmt import Block, BlockRealize, For, SeqStmt, Stmt


def runs_alike(old: Stmt, new: Stmt) -> bool:
    """Whether nothing but annotations differs, and whether loops are unrolled.

    That is told from the objects that both have in common: False says nothing.
    """
    if old is new:
        return True
    kind: Any = old.__class__
    if kind is not new.__class__:
        return False
    if kind is SeqStmt:
        pairs = zip(old.seq, new.seq, strict=False)  # type: ignore[attr-defined]
        return len(old.seq) == len(new.seq) and all(runs_alike(a, b) for a, b in pairs)  # type: ignore[attr-defined]
    handler = _HANDLERS.get(kind)
    return handler is not None and handler(old, new)


def _loops(old: For, new: For) -> bool:
    same_kind = old.kind is new.kind or (old.kind.is_in_order and new.kind.is_in_order)
    return (
        same_kind
        and old.loop_var is new.loop_var
        and old.min is new.min
        and old.extent is new.extent
        and old.thread_binding is new.thread_binding
        and runs_alike(old.body, new.body)
    )


def _realizations(old: BlockRealize, new: BlockRealize) -> bool:
    return (
        all(a is b for a, b in zip(old.iter_values, new.iter_values, strict=False))
        and old.predicate is new.predicate
        and runs_alike(old.block, new.block)
    )


def _blocks(old: Block, new: Block) -> bool:
    return (
        all(
            len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
            for a, b in (
                (old.iter_vars, new.iter_vars),
                (old.reads, new.reads),
                (old.writes, new.writes),
                (old.alloc_buffers, new.alloc_buffers),
                (old.match_buffers, new.match_buffers),
            )
        )
        and old.init is new.init
        and runs_alike(old.body, new.body)
    )


_HANDLERS: Final[dict[type, Any]] = {
    For: _loops,
    BlockRealize: _realizations,
    Block: _blocks,
}
