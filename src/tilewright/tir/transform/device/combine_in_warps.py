"""The threads of a warp combine a value of each without memory, then those of several warps::

    part = part + shuffle_down(part, 16)                # 8, 4, 2, 1 alike
    if lane == 0: parts[warp] = part                    # of eight warps
    part = 0
    if lane < 8: part = parts[lane]
    part = part + shuffle_down(part, 4)                 # 2, 1 alike

Afterwards the first lane of each warp has the result. Groups of 2, 4, 8 or 16 threads are parts of
one warp. All threads take part, those without elements by a value that changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tilewright.ir.arithmetic import equal, less, logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.op.gpu import tvm_warp_shuffle, tvm_warp_shuffle_down
from tilewright.tir.stmt import For, LetStmt, Stmt, seq
from tilewright.tir.transform.building.combination import combination, stores
from tilewright.tir.transform.device.combine_parts import Parts, Result, stored, where
from tilewright.tir.transform.device.thread_axes import THREADS, tag_of


class Warps(NamedTuple):
    """How threads that share a reduction are lanes of warps.

    Attributes:
        size: number of lanes of a warp.
        threads: number of threads that share the reduction.
        thread: the number of a thread among them.
        mask: the lanes of the warp that combine their values, one bit each.
    """

    size: int
    threads: int
    thread: Expr
    mask: Expr

    @property
    def lanes(self) -> int:
        """The number of lanes that combine their values."""
        return min(self.threads, self.size)

    @property
    def total(self) -> int:
        """The number of warps."""
        return -(-self.threads // self.size)


def warps_of(
    shared: Sequence[For], rows: Sequence[For], axes: Mapping[str, int], size: int
) -> Warps | None:
    """How threads are lanes of warps; None if they are not, or some warps would be of two rows.

    Threads are numbered along ``threadIdx.x`` first, then along y and z.

    Args:
        shared: the loops over the threads that share a reduction.
        rows: those over other threads.
        axes: the numbers of threads of a block along the axes.
        size: number of lanes of a warp; 0 if threads cannot exchange values.
    """
    tags = [tag for tag in THREADS if axes.get(tag, 1) > 1]
    inner = {tag_of(loop): loop for loop in shared}
    outer = {tag_of(loop): loop for loop in rows}
    first = [tag for tag in tags if tag in inner]
    if not size or tags[: len(first)] != first or any(tag not in outer | inner for tag in tags):
        return None
    threads = math.prod(axes[tag] for tag in first)
    if threads == 1 or (threads % size and size % threads):
        return None
    row = _number([outer[tag] for tag in tags[len(first) :]], axes)
    lanes = const((1 << min(threads, size)) - 1, "uint32")
    groups = size // threads
    if groups > 1 and len(first) < len(tags):
        lanes = as_expr(lanes << as_expr(row % groups * threads).astype("uint32"))
    return Warps(size, threads, _number([inner[tag] for tag in first], axes), lanes)


def _number(loops: Sequence[For], axes: Mapping[str, int]) -> Expr:
    """The number of a thread along some axes, the fastest first."""
    number: Expr = const(0)
    for loop in reversed(loops):
        number = number * axes[tag_of(loop)] + (loop.loop_var - loop.min)
    return as_expr(number)


def combined_in_warps(parts: Parts, result: Result, warps: Warps) -> Stmt:
    """The statements that combine parts and store the result."""
    steps = _steps(parts, warps, warps.lanes)
    if warps.total > 1:
        lane, warp = as_expr(warps.thread % warps.size), as_expr(warps.thread // warps.size)
        steps += [
            where(
                logical_and(parts.row_condition, equal(lane, 0)), stores(parts.of(warp), parts.own)
            ),
            stores(parts.own, parts.start),
            where(
                logical_and(parts.row_condition, less(lane, warps.total)),
                stores(parts.own, parts.of(lane)),
            ),
            *_steps(parts, warps, 1 << (warps.total - 1).bit_length()),
        ]
    if not result.is_of_thread:
        return seq(*steps, stored(parts, result, parts.own))
    first = [Var(f"{own.buffer.name}_first", own.dtype) for own in parts.own]
    body = stored(parts, result, first)
    for var, own in reversed(list(zip(first, parts.own, strict=True))):
        value = tvm_warp_shuffle(warps.mask, own, const(0), warps.lanes, warps.size)
        body = LetStmt(var, value, body)
    return seq(*steps, body)


def _steps(parts: Parts, warps: Warps, count: int) -> list[Stmt]:
    """Each lane combines its value with that of another one, half as far away in each step."""
    found: list[Stmt] = []
    distance = count // 2
    while distance:
        others = [Var(f"{own.buffer.name}_other", own.dtype) for own in parts.own]
        body = combination(parts.combiner, parts.own, others)
        pairs: list[tuple[Var, BufferLoad]] = list(zip(others, parts.own, strict=True))
        for other, own in reversed(pairs):
            value = tvm_warp_shuffle_down(warps.mask, own, distance, warps.lanes, warps.size)
            body = LetStmt(other, value, body)
        found.append(body)
        distance //= 2
    return found
