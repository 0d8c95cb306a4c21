"""Random schedules for devices: any loops on threads, or tiles as people write them for GPUs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest import mock

from tests.property.random_schedules import Steps

import tilewright as tvm
from tilewright.ir import IRModule
from tilewright.ir.expr import is_const_int
from tilewright.schedule_rules import (
    thread_binding,
    thread_elements,
    thread_products,
    thread_rows,
)
from tilewright.tir import PrimFunc, Schedule, ScheduleError
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV
from tilewright.tir.stmt import For, ForKind, SeqStmt
from tilewright.tir.substitute import variables_of

AXES = (
    "blockIdx.x", "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.x",
    "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread.x", "vthread", "cthread",
)  # fmt: skip
LEVELS = ("blockIdx", "vthread", "threadIdx")


def random_threads(func: PrimFunc, kind: str, rng: random.Random) -> PrimFunc:
    """A program under a random schedule.

    Args:
        func: a program without threads.
        kind: one of `KINDS`.
        rng: where the choices come from.
    """
    if kind == "default":
        return func
    if kind == "rules":
        return with_small_tiles(func)
    threads = RandomThreads(func, rng)
    KINDS[kind](threads)
    threads.bind_all()
    return threads.sch.mod["main"]


def with_small_tiles(func: PrimFunc) -> PrimFunc:
    """A program with the default schedule of a device for which short rows are long."""
    small = {
        thread_rows: {
            "WARP": 2, "PART": 4, "BLOCK_THREADS": 8, "ROW_THREADS": 4, "SHARED_BYTES": 64,
        },
        thread_products: {
            "THREADS": 2, "SIZES": (8, 4, 2), "STEPS": 2, "PART": 2, "FEWEST": 2, "LEAST_STEPS": 2,
        },
        thread_elements: {"SIDE": 4, "TILE_ROWS": 2},
        thread_binding: {"ELEMENT_THREADS": 8, "MOST_BLOCKS": 3},
    }  # fmt: skip
    with ExitStack() as patches:
        for rule, figures in small.items():
            patches.enter_context(mock.patch.multiple(rule, **figures))
        return tvm.default_schedule(func, "opencl").mod["main"]


def is_thread(loop: For) -> bool:
    """Whether a loop is bound to an axis of the device."""
    return loop.thread_binding is not None and "Idx" in loop.thread_binding.thread_tag


class RandomThreads:
    """Takes random steps of a schedule for a device; those that are refused are left out.

    Attributes:
        sch: the schedule.
    """

    def __init__(self, func: PrimFunc, rng: random.Random) -> None:
        self.sch: Any = Schedule(IRModule({"main": func}), error_render_level="none")
        self.rng = rng

    def step(self, name: str, *arguments: Any, **options: Any) -> Any:
        """The result of a primitive; None if it is refused."""
        try:
            return getattr(self.sch, name)(*arguments, **options)
        except ScheduleError:
            return None

    def likely(self, probability: float) -> bool:
        """True with a probability."""
        return self.rng.random() < probability

    def scope(self, likely: str) -> str:
        """Memory of a thread, of a warp or of a block."""
        if self.likely(0.05):
            return "warp"
        return self.rng.choice((likely, likely, "local", "shared", "shared.dyn"))

    # --- what there is ------------------------------------------------------------------------

    def blocks(self) -> list[BlockRV]:
        """The blocks of the program."""
        return self.sch.get_child_blocks(self.sch.get_block("root"))

    def has_threads(self, block: BlockRV) -> bool:
        """Whether a loop around a block is bound."""
        return any(is_thread(self.sch.get(loop)) for loop in self.sch.get_loops(block))

    def serial_loops(self, block: BlockRV, kind: IterType) -> list[LoopRV]:
        """The loops around a block that count its iterators of a kind, and do nothing else."""
        _, realize = self.sch.statement(block)
        iterators = zip(realize.block.iter_vars, realize.iter_values, strict=True)
        values = [value for item, value in iterators if item.iter_type is kind]
        counted = {var for value in values for var in variables_of(value)}
        loops = self.sch.get_loops(block)
        return [
            loop
            for loop in loops
            if self.sch.get(loop).kind is ForKind.SERIAL and self.sch.get(loop).loop_var in counted
        ]

    # --- any loops ----------------------------------------------------------------------------

    def bind_all(self) -> None:
        """Bind random loops, and at least one around each block."""
        for block in self.blocks():
            if self.likely(0.15):
                self.add_up(block)
            elif self.likely(0.5):
                self.share_reduction(block)
            for loop in self.sch.get_loops(block):
                if self.sch.get(loop).kind is ForKind.SERIAL and self.likely(0.5):
                    self.bind_part(loop, self.rng.choice(AXES), 0.3)
            if not self.has_threads(block):
                loops = self.sch.get_loops(block)
                unit = self.step("add_unit_loop", loops[0] if loops else block)
                if unit is not None:
                    self.step("bind", unit, "threadIdx.x")
        for block in self.blocks():
            for loop in self.sch.get_loops(block):
                if self.likely(0.4):
                    self.pipeline(loop)

    def pipeline(self, loop: LoopRV) -> None:
        """Let the iterations of a loop of several statements overlap."""
        stmt, rng = self.sch.get(loop), self.rng
        if stmt.kind is not ForKind.SERIAL or not isinstance(stmt.body, SeqStmt):
            return
        count = len(stmt.body.seq)
        stages = [0] * (count - 1) + [rng.choice((1, 1, 2, 3))]
        if self.likely(0.2):
            stages = sorted(rng.randint(0, 2) for _ in range(count))
        self.step("annotate", loop, "software_pipeline_stage", stages)
        if self.likely(0.5):
            self.step("annotate", loop, "software_pipeline_async_stages", [stages[0]])
        if self.likely(0.3):
            self.step("annotate", loop, "software_pipeline_order", [*range(1, count), 0])

    def add_up(self, block: BlockRV) -> None:
        """Let the iterations of a sum add to its result at the same time, if a block is one."""
        loops = self.serial_loops(block, IterType.COMM_REDUCE)
        around = self.sch.get_loops(block)
        start = self.step("decompose_reduction", block, around[0]) if around else None
        if start is None:
            return
        self.step("annotate", block, "atomic", 1)
        for loop in loops:
            if self.likely(0.6):
                self.bind_part(loop, self.rng.choice(AXES), 0.4)
        loops = self.sch.get_loops(start) or [self.step("add_unit_loop", start)]
        self.step("bind", loops[0], self.rng.choice(("blockIdx.x", "threadIdx.x")))

    def share_reduction(self, block: BlockRV) -> None:
        """Let threads share a reduction of a block, if it has one."""
        loops = self.serial_loops(block, IterType.COMM_REDUCE)
        for axis in self.rng.sample(("threadIdx.x", "threadIdx.y"), self.rng.choice((1, 1, 1, 2))):
            if loops:
                self.bind_part(loops.pop(self.rng.randrange(len(loops))), axis, 0.6)

    def bind_part(self, loop: LoopRV, axis: str, split: float) -> None:
        """Bind a loop, or with a probability of `split` one of its parts."""
        if self.likely(split):
            parts = self.step("split", loop, [None, self.rng.choice((2, 3, 4, 8))])
            loop = self.rng.choice(parts) if parts else loop
        self.step("bind", loop, axis)

    def share_operands(self) -> None:
        """Let blocks read operands from shared memory, into which they are copied at a loop."""
        for block in self.blocks():
            loops = self.sch.get_loops(block)
            copy = self.step("cache_read", block, 0, "shared") if self.likely(0.4) else None
            if copy is not None and loops:
                self.step("compute_at", copy, self.rng.choice(loops))
                for loop in self.sch.get_loops(copy)[-2:]:
                    if self.likely(0.4):
                        self.bind_part(loop, self.rng.choice(AXES), 0.3)

    def any_steps(self) -> None:
        """Take random steps of all kinds."""
        steps = Steps(self.rng, self.sch)
        for _ in range(self.rng.randint(1, 6)):
            steps.step()

    # --- tiles --------------------------------------------------------------------------------

    def tile_all(self) -> None:
        """Tile blocks over blocks and threads of the device, with what belongs to them inside."""
        for block in self.blocks():
            if self.likely(0.15):
                self.step("compute_inline", block)
        for block in self.rng.sample(self.blocks(), len(self.blocks())):
            if self.likely(0.8) and not self.has_threads(block):
                self.tile(block)

    def tile(self, block: BlockRV) -> None:
        """Tile one block, and copy what it reads and writes."""
        reduced = self.serial_loops(block, IterType.COMM_REDUCE)
        if reduced and self.likely(0.25):
            self.factor(block, self.rng.choice(reduced))
        written = None
        if self.likely(0.5):
            written = self.step("cache_write", block, 0, self.scope("local"))
        places, steps = self.split(block)
        if written is not None and places and self.likely(0.9):
            self.step("reverse_compute_at", written, self.rng.choice(places[-2:]))
        for number in range(len(self.sch.get(block).reads)):
            if self.likely(0.6):
                self.copy(block, number, [*places[-1:], *steps])
        self.move_neighbours(block, [*places, *steps])
        for copy in () if written is None else (written,):
            self.decorate(copy)
        self.decorate(block)
        if self.likely(0.5):
            self.step("decompose_reduction", block, self.rng.choice(self.sch.get_loops(block)))

    def factor(self, block: BlockRV, loop: LoopRV) -> None:
        """Partial results of a part of a reduction."""
        parts = self.step("split", loop, [None, self.rng.choice((2, 3, 4))])
        self.step("rfactor", self.rng.choice(parts or [loop]), self.rng.choice((0, 0, -1)))

    def split(self, block: BlockRV) -> tuple[list[LoopRV], list[LoopRV]]:
        """Split the loops of a block into tiles.

        Returns:
            The loops that are bound, and the outer loops of its reduction.
        """
        rng, size = self.rng, lambda: self.rng.choice((1, 2, 2, 3, 4))
        spatial = self.serial_loops(block, IterType.DATA_PAR)
        if len(spatial) > 1 and self.likely(0.2):
            fused = self.step("fuse", *spatial)
            spatial = spatial if fused is None else [fused]
        levels: list[list[LoopRV]] = [[], [], [], []]
        for loop in spatial:
            parts = self.step("split", loop, [None, *(size() for _ in LEVELS)])
            for level, part in zip(levels, parts or [], strict=False):
                level.append(part)
        outer, inner = [], []
        for loop in self.serial_loops(block, IterType.COMM_REDUCE):
            parts = self.step("split", loop, [None, size()]) or [loop]
            outer.append(parts[0])
            inner += parts[1:]
        order = [*levels[0], *levels[1], *levels[2], *outer, *inner, *levels[3]]
        if self.likely(0.3):
            order = [*levels[0], *levels[1], *levels[2], *outer, *levels[3], *inner]
        if len(order) > 1:
            self.step("reorder", *order)
        bound = []
        for level, name in zip(levels[:3], LEVELS, strict=True):
            letters = rng.sample("xyz", 3)
            for loop, letter in zip(level, letters, strict=False):
                if self.likely(0.9):
                    self.step("bind", loop, f"{name}.{letter}")
                    bound.append(loop)
        return bound, outer

    def copy(self, block: BlockRV, operand: int, places: Sequence[LoopRV]) -> None:
        """Copy an operand into shared memory, its threads together, and sometimes to registers."""
        copy = self.step("cache_read", block, operand, self.scope("shared"))
        if copy is None:
            return
        if places:
            self.step("compute_at", copy, self.rng.choice(places))
        self.cooperate(copy)
        if self.likely(0.2):
            self.step(
                "storage_align", copy, 0, self.rng.choice((-2, 0)), 8, self.rng.choice((1, 4))
            )
        if self.likely(0.1):
            self.step("annotate", copy, "double_buffer_scope", 0)
        if self.likely(0.2):
            private = self.step("cache_read", block, operand, "local")
            if private is not None:
                self.step("compute_at", private, self.rng.choice(self.sch.get_loops(block)))

    def cooperate(self, copy: BlockRV) -> None:
        """Let all threads of a block of threads fetch a part each."""
        loops = self.serial_loops(copy, IterType.DATA_PAR)
        loops = loops[-self.rng.randint(1, 3) :]
        loop = self.step("fuse", *loops) if len(loops) > 1 else (loops or [None])[0]
        if loop is None:
            return
        extents = self.extents(copy)
        axes = [a for a in sorted(extents) if a.startswith("threadIdx")] or ["threadIdx.x"]
        self.rng.shuffle(axes)
        lanes = self.rng.choice(([], [], [2], [4]))
        factors = [extents.get(axis, self.rng.choice((2, 4))) for axis in axes]
        parts = self.step("split", loop, [None, *factors, *lanes])
        if not parts:
            return
        for part, axis in zip(parts[1:], axes, strict=False):
            self.step("bind", part, axis)
        if lanes:
            self.step("vectorize", parts[-1])

    def extents(self, block: BlockRV) -> dict[str, int]:
        """The numbers of threads along the axes around a block, as far as they are constant."""
        found = {}
        for loop in map(self.sch.get, self.sch.get_loops(block)):
            extent = getattr(loop.extent, "value", None)
            if is_thread(loop) and extent is not None:
                found[loop.thread_binding.thread_tag] = extent
        return found

    def move_neighbours(self, block: BlockRV, places: Sequence[LoopRV]) -> None:
        """Compute producers and consumers of a block in its tiles."""
        if not places:
            return
        for other in self.sch.get_producers(block):
            if self.likely(0.4):
                self.step("compute_at", other, self.rng.choice(places))
                if self.likely(0.5):
                    self.step("set_scope", other, 0, self.rng.choice(("shared", "local")))
        for other in self.sch.get_consumers(block):
            if self.likely(0.3):
                self.step("reverse_compute_at", other, self.rng.choice(places))

    def decorate(self, block: BlockRV) -> None:
        """Unroll, vectorise and annotate inner loops."""
        for loop in self.sch.get_loops(block)[::-1]:
            stmt = self.sch.get(loop)
            if stmt.kind is not ForKind.SERIAL:
                continue
            if self.likely(0.15) and not is_const_int(stmt.extent, 1):
                self.step("vectorize", loop)
            elif self.likely(0.2):
                self.step("unroll", loop)
            elif self.likely(0.1):
                self.step("annotate", loop, "pragma_auto_unroll_max_step", self.rng.choice((4, 64)))
                self.step("annotate", loop, "pragma_unroll_explicit", self.rng.choice((0, 1)))


KINDS: dict[str, Callable[[RandomThreads], None]] = {
    "loops": RandomThreads.share_operands,
    "steps": RandomThreads.any_steps,
    "tiles": RandomThreads.tile_all,
}
SHARES = {"default": 1, "rules": 2, "loops": 3, "steps": 3, "tiles": 5}
"""How often each kind of schedule is drawn."""
