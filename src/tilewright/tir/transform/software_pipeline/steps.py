"""The statements of a pipeline."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.tir.stmt import Stmt


class Step(NamedTuple):
    """A statement of a pipeline.

    Attributes:
        number: its place in the loop.
        stage: in which stage it is.
        order: its place among those that run beside each other.
        stmt: the statement.
    """

    number: int
    stage: int
    order: int
    stmt: Stmt
