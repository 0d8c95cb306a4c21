"""Arguments of any primitive, by the kinds and the names of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright.tir.schedule.primitive import Parameter

if TYPE_CHECKING:
    from tests.property.random_schedules import Steps

LEFT_OUT = object()
"""Stands for an argument that is not given."""


class RefusedError(Exception):
    """A step was refused."""


def argument(steps: Steps, parameter: Parameter, block: str, found: dict[str, Any]) -> Any:
    """A value for a parameter.

    Args:
        steps: makes the choices.
        parameter: what the value is for.
        block: the block that the step is about.
        found: the arguments before it.
    """
    rng = steps.rng
    if parameter.kind in ("loop", "loop or block") and parameter.many:
        return loops(steps, block)
    if parameter.kind in ("loop", "loop or location", "loop or number"):
        # A place for a computation is usually around another block.
        return steps.loop(steps.block() if "block" in found else block)
    if parameter.kind == "block":
        if parameter.many:
            return LEFT_OUT if rng.random() < 0.7 else [steps.block()]
        return block
    if parameter.kind in ("loop or block", "loop or blocks"):
        return block if rng.random() < 0.3 else steps.loop(block)
    maker = MAKERS.get(parameter.name)
    if maker is not None:
        return maker(steps, block)
    if isinstance(parameter.default, bool):
        return rng.random() < 0.5
    return LEFT_OUT


def loops(steps: Steps, block: str) -> list[Any]:
    """A few loops, usually of one nest."""
    rng = steps.rng
    found = steps.loops(block)
    if rng.random() < 0.1:
        found += steps.loops(steps.block())
    count = rng.choice(range(1, min(4, len(found)) + 1))
    start = rng.randrange(len(found) - count + 1)
    chosen = found[start : start + count]
    if rng.random() < 0.6:
        rng.shuffle(chosen)
    return chosen


def rank(steps: Steps, block: str) -> int:
    """The number of iterators of a block."""
    return len(steps.realize(block).block.iter_vars)


def factors(steps: Steps, block: str) -> list[Any]:
    """Factors of a split."""
    rng = steps.rng
    if rng.random() < 0.7:
        found: list[Any] = [None, rng.choice((1, 2, 3, 4))]
        return found if rng.random() < 0.7 else found[::-1]
    return [rng.choice((1, 2, 3, 4, None)) for _ in range(rng.randint(1, 3))]


def index_map(steps: Steps, dimensions: int) -> Callable[..., Any]:
    """A map of indices."""
    one = (
        lambda i: (i // 2, i % 2),
        lambda i: (i,),
        lambda i: (i // 4, i % 4),
        lambda i: (i + 2,),
        lambda i: (7 - i,),
    )
    two = (
        lambda i, j: (j, i),
        lambda i, j: (i // 2, j, i % 2),
        lambda i, j: (i * 8 + j,),
        lambda i, j: (i // 3, j // 2, i % 3, j % 2),
        lambda i, j: (i, (j + i) % 8),
    )
    three = (
        lambda i, j, k: (k, i, j),
        lambda i, j, k: (i, j // 2, k, j % 2),
        lambda i, j, k: (i * 8 + k, j),
    )
    return steps.rng.choice({1: one, 2: two, 3: three}.get(dimensions, one))


def buffer(steps: Steps, block: str) -> Any:
    """A buffer of a block: its place in what the block reads or writes, or its name."""
    stmt = steps.realize(block).block
    kind = steps.rng.choice(("read", "write"))
    regions = stmt.reads if kind == "read" else stmt.writes
    if steps.rng.random() < 0.3 and regions:
        return steps.rng.choice(regions).buffer.name
    return (kind, steps.rng.randrange(max(1, len(regions))))


MAKERS: dict[str, Callable[[Steps, str], Any]] = {
    "factors": factors,
    "read_buffer_index": lambda s, b: s.rng.randrange(2),
    "write_buffer_index": lambda s, b: 0,
    "buffer_index": lambda s, b: s.rng.randrange(2),
    "storage_scope": lambda s, b: s.rng.choice(("global", "local", "shared")),
    "factor_axis": lambda s, b: s.rng.choice((0, 0, 1, -1, 2)),
    "index": lambda s, b: s.rng.choice((-1, -1, -2, 0, 1)),
    "index_map": lambda s, b: index_map(s, rank(s, b)),
    "buffer": buffer,
    "new_order": lambda s, b: s.rng.sample(range(rank(s, b)), rank(s, b)),
    "padding": lambda s, b: [s.rng.choice((1, 2, 3, 4)) for _ in range(rank(s, b))],
    "thread_axis": lambda s, b: s.rng.choice(("threadIdx.x", "blockIdx.x", "vthread.x")),
    "ann_key": lambda s, b: s.rng.choice(("hint", "pragma_auto_unroll_max_step")),
    "ann_val": lambda s, b: s.rng.choice((1, 16, "text")),
    "axis": lambda s, b: s.rng.choice((0, -1, 1)),
    "factor": lambda s, b: s.rng.choice((4, 8, 32)),
    "offset": lambda s, b: s.rng.choice((0, 1, 4)),
    "n": lambda s, b: s.rng.choice((1, 2, 3)),
    "candidates": lambda s, b: [1, 2, 4],
    "probs": lambda s, b: [0.5, 0.25, 0.25],
    "axis_separators": lambda s, b: s.rng.choice(([], [1])),
    "cse_thresh": lambda s, b: 0,
    "pad_value": lambda s, b: s.rng.choice((None, None, 0.0)),
    "target": lambda s, b: s.loop(b),
    "levels": lambda s, b: s.rng.choice((1, 1, 2)),
    "occurrence": lambda s, b: s.rng.choice((None, None, 0, 1)),
    "place": lambda s, b: s.rng.choice((None, "first", "last")),
}
