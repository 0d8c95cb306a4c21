"""How the lanes of a vectorised loop are cut into vectors."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Call, Expr
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore, Stmt
from tilewright.tir.transform.lower_math import EXPANDED


class Piece(NamedTuple):
    """Neighbouring iterations that run as the lanes of one vector."""

    base: Expr
    lanes: int


def pieces_of(start: Expr, lanes: int, width: int) -> tuple[Piece, ...]:
    """`lanes` iterations from `start` as vectors of at most `width` lanes."""
    pieces = []
    done = 0
    while done < lanes:
        size = min(width, 1 << ((lanes - done).bit_length() - 1))
        pieces.append(Piece(as_expr(start + done), size))
        done += size
    return tuple(pieces)


def native_lanes(body: Stmt, vector_bits: int) -> int:
    """How many lanes fill a register with the widest elements that `body` loads or stores."""
    bits = 8
    for node in walk(body):
        if isinstance(node, (BufferLoad, BufferStore)):
            bits = max(bits, node.buffer.dtype.bits)
    return max(vector_bits // bits, 1)


def overlapping_lanes(body: Stmt, vector_bits: int) -> int:
    """How many lanes a statement has: those of one register, or of two for a long computation.

    A mathematical function is a chain of operations that wait for each other. Backends take an
    operation on a vector of two registers apart, so that two such chains run side by side. Memory
    that lives in registers is accessed as other loops do, one register at a time.
    """
    lanes = native_lanes(body, vector_bits)
    is_long = False
    for node in walk(body):
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope() == "local":
            return lanes
        is_long = is_long or (isinstance(node, Call) and node.op in EXPANDED)
    return 2 * lanes if is_long else lanes
