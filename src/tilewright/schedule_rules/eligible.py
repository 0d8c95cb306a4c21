"""Which functions have a schedule of their own, and are built as they are.

A function without one is as `te.create_prim_func` makes it, or as a script says what is to be
computed and nothing else: each block is in a loop per iterator, in the order of the iterators; all
loops run one after the other, and nothing is annotated. A block without iterators may contain a
program by hand. A function that was transformed by a
`tir.Schedule` has its schedule, whatever its loops look like: its blocks have keys.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, TypeGuard

from tilewright.ir.expr import Var, is_const_int
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.exponents import bound_exponents
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind, SeqStmt, Stmt
from tilewright.tir.transform.building.statements import statements

IS_SCHEDULED: Final = "tir.is_scheduled"
"""The attribute of a function that has a schedule, whatever it looks like."""

ATTRIBUTES: Final = {IS_SCHEDULED: True, "tir.reassociate": True}
"""What is known of a scheduled function: sums of floats may be regrouped, as schedules do."""

_ON_THREADS: Final = (ForKind.PARALLEL, ForKind.THREAD_BINDING)


def has_schedule(func: PrimFunc) -> bool:
    """Whether the loops of `func` are as somebody wants them."""
    if func.attrs.get(IS_SCHEDULED) is not None:
        return bool(int(func.attrs[IS_SCHEDULED]))
    nests = _nests(func)
    return not nests or not all(map(_has_no_schedule, nests))


def _has_no_schedule(nest: Stmt) -> bool:
    return not _is_transformed(nest) and (_is_plain_nest(nest) or is_opaque(nest))


def _nests(func: PrimFunc) -> Sequence[Stmt]:
    """The statements in the root block of a function; none if that is not plain."""
    root = func.body
    if not isinstance(root, BlockRealize) or not _is_plain_root(root.block):
        return ()
    body = root.block.body
    return body.seq if isinstance(body, SeqStmt) else (body,)


def may_schedule(func: object) -> TypeGuard[PrimFunc]:
    """Whether `func` is a tensor program without a schedule."""
    return isinstance(func, PrimFunc) and not has_schedule(func)


def lacks_threads(func: object) -> TypeGuard[PrimFunc]:
    """Whether `func` is a tensor program of which no loop runs on threads of a device."""
    if not isinstance(func, PrimFunc) or not isinstance(func.body, BlockRealize):
        return False
    if func.attrs.get(IS_SCHEDULED) is not None:
        return False
    return not any(
        isinstance(stmt, For) and stmt.kind is ForKind.THREAD_BINDING
        for stmt in statements(func.body)
    )


def marked_as_scheduled(module: IRModule, names: Collection[str] | None = None) -> IRModule:
    """A module whose functions without a schedule have the attributes of scheduled ones.

    Schedules start from it, so that a program that is scheduled step by step, or that needs no
    step, is compiled like one with the default schedule. Exponents that are known to be at most 0
    are bounded (`bound_exponents`).

    Args:
        module: the functions.
        names: of the functions that this is about; None for all.
    """
    todo = [
        var
        for var, func in module.functions.items()
        if may_schedule(func) and (names is None or var.name_hint in names)
    ]
    module = module.clone()
    for var in todo:
        func = bound_exponents(module[var.name_hint])
        module.update_func(var, func.with_attrs(_attributes(func)))
    return module


def _attributes(func: PrimFunc) -> dict[str, bool]:
    """What is known of a function once it is scheduled. Programs by hand, such as factorizations,
    add up in the order that they say."""
    if any(isinstance(stmt, BlockRealize) and is_opaque(stmt) for stmt in _nests(func)):
        return {IS_SCHEDULED: True}
    return ATTRIBUTES


def is_opaque(stmt: Stmt) -> bool:
    """Whether a statement is a block without iterators around a program by hand, as `te.extern`
    makes it."""
    if not isinstance(stmt, BlockRealize) or stmt.iter_values:
        return False
    inside = list(statements(stmt.block.body))
    blocks = [stmt.block, *(inner.block for inner in inside if isinstance(inner, BlockRealize))]
    loops = [inner for inner in inside if isinstance(inner, For)]
    return (
        is_const_int(stmt.predicate, 1)
        and bool(loops)
        and not any(loop.kind in _ON_THREADS for loop in loops)
        and not any(block.annotations or block.match_buffers for block in blocks)
    )


def _is_transformed(stmt: Stmt) -> bool:
    """Whether a schedule has been applied to a statement, whose blocks have keys then."""
    blocks = [inner.block for inner in statements(stmt) if isinstance(inner, BlockRealize)]
    return any(block.key is not None for block in blocks)


def _is_plain_root(block: Block) -> bool:
    return (
        not block.iter_vars
        and block.key is None
        and block.init is None
        and not block.annotations
        and not block.match_buffers
        and all(buffer.scope() == "global" for buffer in block.alloc_buffers)
    )


def _is_plain_nest(stmt: Stmt) -> bool:
    """Whether a statement is one block in a loop per iterator, in their order."""
    loops: list[Var] = []
    extents = []
    while isinstance(stmt, For):
        if stmt.kind is not ForKind.SERIAL or stmt.annotations or not is_const_int(stmt.min, 0):
            return False
        loops.append(stmt.loop_var)
        extents.append(stmt.extent)
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize) or not is_const_int(stmt.predicate, 1):
        return False
    block = stmt.block
    if block.annotations or block.match_buffers or block.alloc_buffers:
        return False
    values = [value for value in stmt.iter_values if isinstance(value, Var)]
    if len(values) != len(stmt.iter_values):
        return _is_single(stmt, loops)
    return (
        len(values) == len(loops)
        and all(a is b for a, b in zip(values, loops, strict=True))
        and not any(isinstance(inner, (For, BlockRealize)) for inner in statements(block.body))
    )


def _is_single(realize: BlockRealize, loops: list[Var]) -> bool:
    """Whether a block without loops computes one value."""
    return not loops and all(is_const_int(value, 0) for value in realize.iter_values)
