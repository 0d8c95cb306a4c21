"""Random steps on a schedule: any primitive, with arguments that are often right."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tilewright.error import TVMError
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.schedule.primitive import PRIMITIVES, Parameter, Primitive

EXCLUDED = frozenset(
    {
        "unsafe_set_dtype",  # changes results by design
        "unsafe_hide_buffer_access",  # an opt-out of the proofs
        "tensorize",  # needs an intrinsic that fits
        "enter_postproc",
    }
)

WEIGHTS = {
    "split": 4, "fuse": 2, "reorder": 4, "merge": 2, "compute_at": 4, "reverse_compute_at": 4,
    "compute_inline": 2, "reverse_compute_inline": 2, "cache_read": 3, "cache_write": 3,
    "parallel": 2, "vectorize": 2, "decompose_reduction": 2, "rfactor": 2, "transform_layout": 2,
}  # fmt: skip


class Steps:
    """Applies random primitives to a schedule.

    Attributes:
        applied: how many steps of each primitive were accepted.
        refused: how many were refused.
    """

    def __init__(self, rng: random.Random, sch: Schedule) -> None:
        self.rng, self.sch = rng, sch
        self.applied: list[str] = []
        self.refused: list[str] = []

    def step(self) -> None:
        """Try one random primitive; a refusal must leave the program as it was."""
        names = [n for n in PRIMITIVES if n not in EXCLUDED and not n.startswith("get_")]
        weights = [WEIGHTS.get(name, 1) for name in names]
        (name,) = self.rng.choices(names, weights)
        primitive = PRIMITIVES[name]
        try:
            arguments = self._merged() if name == "merge" else self._arguments(primitive)
        except IndexError:
            return  # there is no block, or no loop, to choose from
        before = self.sch.mod["main"]
        try:
            positional = arguments.pop("*", [])
            getattr(self.sch, name)(*positional, **arguments)
        except ScheduleError as error:
            if self.sch.mod["main"] is not before:
                raise AssertionError(f"{name} changed the program and refused") from error
            if self.rng.random() < 0.05:
                str(error)  # with the script and the counterexample
            self.refused.append(name)
        except TVMError as error:
            if not isinstance(error, (ValueError, TypeError)):
                raise  # no mistake in the arguments, which has a class of its own
            self.refused.append(name)
        else:
            self.applied.append(name)

    # --- arguments --------------------------------------------------------------------------

    def _arguments(self, primitive: Primitive) -> dict[str, Any]:
        block = self._block()
        found: dict[str, Any] = {}
        for parameter in primitive.parameters:
            if parameter.name == "decision":
                continue
            value = self._argument(parameter, block, found)
            if value is not _LEFT_OUT:
                found["*" if parameter.variadic else parameter.name] = value
        return found

    def _merged(self) -> dict[str, Any]:
        """Loops of several blocks, equally deep."""
        nests = [self.sch.get_loops(self._block()) for _ in range(self.rng.choice((2, 2, 3)))]
        depth = self.rng.randrange(min(map(len, nests)) or 1)
        return {"*": [nest[min(depth, len(nest) - 1)] for nest in nests if nest]}

    def _blocks(self) -> list[str]:
        names = [r.block.name_hint for r in self.sch.state.tree("main").blocks()]
        return [name for name in names if names.count(name) == 1 and name != "root"]

    def _block(self) -> str:
        return self.rng.choice(self._blocks())

    def _loop(self, block: str) -> Any:
        return self.rng.choice(self.sch.get_loops(block))

    def _argument(self, parameter: Parameter, block: str, found: dict[str, Any]) -> Any:
        if parameter.kind in ("loop", "loop or block") and parameter.many:
            return self._loops(block)
        if parameter.kind == "loop":
            # A place for a computation is usually around another block.
            other = self._block() if "block" in found else block
            return self._loop(other)
        if parameter.kind == "block":
            if parameter.many:
                return _LEFT_OUT if self.rng.random() < 0.7 else [self._block()]
            return block
        if parameter.kind == "loop or block":
            return block if self.rng.random() < 0.3 else self._loop(block)
        maker = _MAKERS.get(parameter.name)
        if maker is not None:
            return maker(self, block)
        if isinstance(parameter.default, bool):
            return self.rng.random() < 0.5
        return _LEFT_OUT

    def _loops(self, block: str) -> list[Any]:
        loops = self.sch.get_loops(block)
        if self.rng.random() < 0.3:
            loops += self.sch.get_loops(self._block())
        count = self.rng.choice(range(1, min(4, len(loops)) + 1))
        start = self.rng.randrange(len(loops) - count + 1)
        chosen = loops[start : start + count]
        if self.rng.random() < 0.6:
            self.rng.shuffle(chosen)
        return chosen

    def _rank(self, block: str) -> int:
        return len(self.sch.get(self.sch.get_block(block)).iter_vars)


_LEFT_OUT = object()


def _factors(steps: Steps, block: str) -> list[Any]:
    rng = steps.rng
    if rng.random() < 0.7:
        factors: list[Any] = [None, rng.choice((1, 2, 3, 4))]
        return factors if rng.random() < 0.7 else factors[::-1]
    return [rng.choice((1, 2, 3, 4, None)) for _ in range(rng.randint(1, 3))]


def _index_map(steps: Steps, block: str) -> Callable[..., Any]:
    one = (
        lambda i: (i // 2, i % 2),
        lambda i: (i,),
        lambda i: (i // 4, i % 4),
    )  # fmt: skip
    two = (
        lambda i, j: (j, i),
        lambda i, j: (i // 2, j, i % 2),
        lambda i, j: (i * 8 + j,),
        lambda i, j: (i // 3, j // 2, i % 3, j % 2),
    )
    three = (
        lambda i, j, k: (k, i, j),
        lambda i, j, k: (i, j // 2, k, j % 2),
    )
    return steps.rng.choice({1: one, 2: two, 3: three}.get(steps._rank(block), one))


def _buffer(steps: Steps, block: str) -> Any:
    stmt = steps.sch.get(steps.sch.get_block(block))
    kind = steps.rng.choice(("read", "write"))
    regions = stmt.reads if kind == "read" else stmt.writes
    if steps.rng.random() < 0.3 and regions:
        return steps.rng.choice(regions).buffer.name
    return (kind, steps.rng.randrange(max(1, len(regions))))


_MAKERS: dict[str, Callable[[Steps, str], Any]] = {
    "factors": _factors,
    "read_buffer_index": lambda s, b: s.rng.randrange(2),
    "write_buffer_index": lambda s, b: 0,
    "buffer_index": lambda s, b: s.rng.randrange(2),
    "storage_scope": lambda s, b: s.rng.choice(("global", "local", "shared")),
    "factor_axis": lambda s, b: s.rng.choice((0, 0, 1, -1, 2)),
    "index": lambda s, b: s.rng.choice((-1, -1, -2, 0, 1)),
    "index_map": _index_map,
    "buffer": _buffer,
    "new_order": lambda s, b: s.rng.sample(range(s._rank(b)), s._rank(b)),
    "padding": lambda s, b: [s.rng.choice((1, 2, 3, 4)) for _ in range(s._rank(b))],
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
    "target": lambda s, b: s._loop(b),
}
