"""Questions about expressions: whether two are the same, what they may do, what they mention."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.error import ArgumentError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Call, Expr, IntImm, Var
from tilewright.ir.node import Node, Role
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import BufferStore, DeclBuffer


def identical(a: Node, b: Node) -> bool:
    """Whether two expressions are the same, of the same variables and the same buffers.

    Unlike this, `structural_equal` takes free buffers of one shape and dtype for each other.
    """
    return a is b or (
        structural_equal(a, b)
        and all(
            getattr(x, "buffer", None) is getattr(y, "buffer", None)
            for x, y in zip(walk(a), walk(b), strict=True)
        )
    )


def same_extent(a: int | Expr, b: int | Expr) -> bool:
    """Whether two extents are the same number, of whatever dtype, or `identical` expressions."""
    a, b = as_expr(a), as_expr(b)
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    return identical(a, b)


def same_element(a: BufferLoad | BufferStore, b: BufferLoad | BufferStore) -> bool:
    """Whether two accesses are of one buffer at `identical` indices."""
    return a.buffer is b.buffer and all(map(identical, a.indices, b.indices))


def is_effect(node: Node) -> bool:
    """Whether `node` itself is a call that may do more than read memory."""
    if not isinstance(node, Call):
        return False
    if not isinstance(node.op, Op):
        return True
    return node.op.effect > CallEffectKind.READ_STATE and node.op.name != "tir.assume"


def has_effects(root: Node) -> bool:
    """Whether there is such a call in `root`: it must run as often as it does, in that order."""
    return any(map(is_effect, walk(root)))


def undefined_vars(node: Node, defs: Sequence[Var] = ()) -> list[Var]:
    """The variables that `node` mentions and does not bind, in order of appearance.

    Pointers to the memory of the buffers that it accesses, and their sizes, are among them.

    Args:
        node: a statement or an expression.
        defs: variables that are bound around it.
    """
    if not isinstance(node, Node):
        raise ArgumentError(f"undefined_vars: expected a statement or an expression, got {node!r}")
    bound, found = set(defs), dict[Var, None]()
    for part in walk(node):
        if isinstance(part, Var):
            found[part] = None
        for field in type(part).__node_fields__:
            value = getattr(part, field.name)
            if field.role is Role.BINDS:
                for item in value if isinstance(value, tuple) else (value,):
                    if not isinstance(item, Buffer):
                        bound.add(getattr(item, "var", item))
                    elif not isinstance(part, DeclBuffer):  # a view of memory
                        bound.add(item.data)
            elif field.role is Role.USE and isinstance(value, IterVar):
                bound.add(value.var)  # of an attribute: the axis of a kernel
            elif field.role is Role.USE and isinstance(value, Buffer):
                found[value.data] = None
                for expr in (*value.shape, *value.strides, value.elem_offset):
                    found |= dict.fromkeys(n for n in walk(expr) if isinstance(n, Var))
    return [var for var in found if var not in bound]
