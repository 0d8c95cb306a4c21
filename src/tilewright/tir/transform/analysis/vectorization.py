"""Whether iterations of a loop may run as lanes, all at once, and how lanes are cut into vectors.

Run as lanes, an access that comes earlier in the text happens before a later one for all lanes; in
the loop it happens after it if its iteration is later. So two accesses of one element, at least one
of them a store, must not have the earlier one of the text in the later iteration."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from tilewright.arith.linear import LinearForm
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Call, Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.access import Access, AccessSummary
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore, For
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import affine, difference, mentions, split
from tilewright.tir.transform.lower_math import EXPANDED, working_dtype
from tilewright.tir.transform.machine import OVERLAPPING_CHAINS


def carried_dependence(
    var: Var, body: AccessSummary, lanes: int | None
) -> tuple[Access, Access] | None:
    """Two accesses that forbid running `lanes` iterations as lanes; None if there are none.

    `lanes` neighbouring iterations run at once; None stands for any number.
    """
    by_memory: dict[Var, list[tuple[Access, tuple[LinearForm, LinearForm] | None]]] = {}
    for access in body.accesses:
        if access.memory not in body.allocated:
            parts = split(affine(access.indices[0]), var)
            by_memory.setdefault(access.memory, []).append((access, parts))
    for accesses in by_memory.values():
        if not any(access.is_write for access, _ in accesses):
            continue
        for position, (earlier, a) in enumerate(accesses):
            for later, b in accesses[position:]:
                if (earlier.is_write or later.is_write) and not _independent(
                    earlier, a, later, b, body.bound, lanes
                ):
                    return earlier, later
    return None


def _independent(
    earlier: Access,
    a: tuple[LinearForm, LinearForm] | None,
    later: Access,
    b: tuple[LinearForm, LinearForm] | None,
    bound: AbstractSet[Var],
    lanes: int | None,
) -> bool:
    if a is None or b is None or earlier.buffer.dtype is not later.buffer.dtype:
        return False  # unknown, or indices that count different things
    stride = a[0].constant
    if not (a[0].is_constant() and b[0].is_constant() and stride == b[0].constant):
        return False
    apart = difference(later.indices[0], earlier.indices[0])
    if not apart.is_constant():
        return False
    gap = apart.constant
    if bound and _mentions(earlier.indices[0], bound):
        # Instances of the two may differ in the inner loop variables as well.
        return gap == 0 and lanes is not None and _pitch(a[1], bound) >= lanes * abs(stride) > 0
    if stride == 0:
        return gap != 0
    if gap % stride or gap == 0:
        return True
    distance = gap // stride
    if lanes is not None and abs(distance) >= lanes:
        return True
    # At `distance` > 0 the later access meets, `distance` iterations earlier, the same element.
    return distance < 0 and not (earlier.around.loops or later.around.loops)


def _pitch(form: LinearForm, bound: AbstractSet[Var]) -> int:
    """What every change of the variables `bound` changes the form by a multiple of, or 0."""
    pitch = 0
    for term, coefficient in form.terms.items():
        if term in bound:
            pitch = math.gcd(pitch, coefficient)
        elif mentions(LinearForm({term: 1}, 0), bound):
            return 0
    return pitch


def _mentions(index: Expr, variables: AbstractSet[Var]) -> bool:
    return any(var in variables for var in variables_of(index))


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


def native_lanes(loop: For, vector_bits: int) -> int:
    """How many lanes fill a register with the widest elements that a loop loads or stores.

    An element that is the same in all lanes, such as the place of a row, is loaded once.
    """
    bits = 8
    for node in walk(loop.body):
        if isinstance(node, BufferStore) or (
            isinstance(node, BufferLoad)
            and any(var is loop.loop_var for index in node.indices for var in variables_of(index))
        ):
            bits = max(bits, node.buffer.dtype.bits)
    return max(vector_bits // bits, 1)


def overlapping_lanes(loop: For, vector_bits: int) -> int:
    """How many lanes a loop has: those of one register, or of several for a long computation.

    A mathematical function is a chain of operations that wait for each other. Backends take an
    operation on a vector of several registers apart, so that as many chains run side by side.
    Memory that lives in registers is accessed as other loops do, one register at a time.
    """
    bits = 0
    for node in walk(loop.body):
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.scope() == "local":
            return native_lanes(loop, vector_bits)
        if isinstance(node, Call) and node.op in EXPANDED:
            bits = max(bits, working_dtype(node).bits)
    native = native_lanes(loop, vector_bits)
    return max(native, OVERLAPPING_CHAINS * vector_bits // bits) if bits else native
