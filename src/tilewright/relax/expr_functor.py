"""Visitors and mutators of graph functions, by the names that their users know."""

from __future__ import annotations

from typing import TypeVar

from tilewright.relax.mutator import PyExprMutator
from tilewright.relax.visitor import PyExprVisitor

__all__ = ["PyExprMutator", "PyExprVisitor", "mutator", "visitor"]

ClassT = TypeVar("ClassT", bound=type)


def visitor(cls: ClassT) -> ClassT:
    """Decorator of a visitor. Subclasses of `PyExprVisitor` work without it, too."""
    return cls


def mutator(cls: ClassT) -> ClassT:
    """Decorator of a mutator. Subclasses of `PyExprMutator` work without it, too."""
    return cls
