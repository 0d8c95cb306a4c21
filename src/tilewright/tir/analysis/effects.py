"""Calls that may do more than compute a value."""

from __future__ import annotations

from tilewright.ir.expr import Call
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import walk


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
