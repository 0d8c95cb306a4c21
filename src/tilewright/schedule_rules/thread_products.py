"""Products on devices: tiles through memory that the threads of a block share.

A block of threads computes a tile of the result. Step by step of the sum, its threads copy a part
of both operands into shared memory, neighbours in memory by neighbouring threads; there, rows and
columns are next to each other, so that a thread reads those of its own part by vectors. A thread
has several parts of few rows and columns (virtual threads), so that neighbouring threads read and
write neighbouring vectors. See V. Volkov and J. Demmel, "Benchmarking GPUs to tune dense linear
algebra" (SC 2008), for why results are kept in registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.accesses import BlockAccesses, StridedAccess, accesses_of
from tilewright.schedule_rules.inline import is_conditional
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    block_of,
    extent_of,
    is_complete,
    loops_inside,
    plain_nest,
)
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.thread_binding import (
    VECTOR_BYTES,
    bind_blocks,
    bind_reduction,
    copies_in_background,
)
from tilewright.target import Target
from tilewright.target.accelerator import Accelerator, accelerator_of
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError

THREADS: Final = 16
"""Number of threads along the rows, and along the columns, of a tile."""

SIZES: Final = (128, 64, 32, 16)
"""Numbers of rows and columns of a tile."""

STEPS: Final = 16
"""Number of steps of the sum for which operands are copied at once."""

PART: Final = 4
"""Number of neighbouring rows, and columns, that a thread computes."""

FEWEST: Final = 8
"""Products with fewer rows, columns or steps have no tiles."""

LEAST_STEPS: Final = 256
"""Minimum number of steps of a part of a sum."""

UNROLLED: Final = 256
"""Maximum number of multiply-adds in a row, so that operands of later ones are on their way."""

USUAL: Final = 64
"""The extent that is assumed where it is symbolic."""

MULTIPLY_ADDS: Final = 128
"""Multiply-adds of a multiprocessor in a cycle."""

SHARED_ELEMENTS: Final = 32
"""Elements that a multiprocessor reads from shared memory in a cycle."""

GLOBAL_ELEMENTS: Final = 16
"""Elements that a multiprocessor gets from the cache that all share in a cycle."""

ALONE: Final = 1.5
"""Slowdown of a multiprocessor that has one block of threads only, and waits for it."""


class Tile(NamedTuple):
    """Sizes of the part of a product that a block of threads computes.

    Attributes:
        rows: number of rows.
        columns: number of columns.
    """

    rows: int
    columns: int

    @property
    def cycles(self) -> float:
        """Estimated cycles of a multiprocessor for one step of the sum."""
        multiply = self.rows * self.columns / MULTIPLY_ADDS
        warps = THREADS * THREADS / 32
        # A warp has two rows of threads: what they read of the rows is the same for the others.
        shared = warps * (self.columns / SHARED_ELEMENTS + max(self.rows / THREADS / PART, 1))
        return max(multiply, shared) + (self.rows + self.columns) / GLOBAL_ELEMENTS

    def time(self, rows: int, columns: int, batch: int, device: Accelerator) -> float:
        """Estimated cycles for one step of the sum of a whole product."""
        blocks = -(-rows // self.rows) * -(-columns // self.columns) * batch
        each = -(-blocks // device.multiprocessors)
        return each * self.cycles * (ALONE if each == 1 else 1)


def tile_for(rows: int, columns: int, batch: int, device: Accelerator) -> Tile:
    """The tile with which a product is estimated to be the quickest.

    Args:
        rows: number of rows of the result.
        columns: number of its columns.
        batch: number of products.
        device: the device.
    """
    tiles = (Tile(*sizes) for sizes in itertools.product(SIZES, SIZES))
    return min(tiles, key=lambda tile: tile.time(rows, columns, batch, device))


class Product(NamedTuple):
    """What the iterators of a product stand for."""

    batch: list[Var]
    rows: list[Var]
    columns: list[Var]
    steps: list[Var]

    @staticmethod
    def of(accesses: BlockAccesses) -> Product:
        """The product that a block computes.

        Raises:
            DoesNotFitError: if it is none, or is too small for tiles.
        """
        found = find_contraction(accesses)
        if found is None or len(accesses.loads) != 2:
            raise DoesNotFitError("it is no product of two operands")
        (moving,), (fixed,) = found.moving, found.fixed
        spatial = accesses.spatial
        product = Product(
            [v for v in spatial if moving.mentions(v) and fixed.mentions(v)],
            [v for v in spatial if not moving.mentions(v)],  # also what no operand depends on
            [v for v in spatial if moving.mentions(v) and not fixed.mentions(v)],
            accesses.reduction,
        )
        sizes = [_count(accesses, part) for part in product]
        if min(sizes[1:]) < FEWEST or not sizes[0]:
            raise DoesNotFitError("it is too small for tiles")
        return product


def _count(accesses: BlockAccesses, variables: Sequence[Var]) -> int:
    known = accesses.known_count(variables)
    return USUAL if known is None else known


def tile_product(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Compute a product in tiles, through memory that the threads of a block share.

    Raises:
        DoesNotFitError: for another block.
        ScheduleError: if a step is refused.
    """
    accesses = plain_nest(sch, block).accesses
    product = Product.of(accesses)
    device = accelerator_of(target)
    if device.threads < THREADS * THREADS:
        raise DoesNotFitError("its tile has more threads than a block")
    batch, rows, columns, _ = (_count(accesses, part) for part in product)
    tile = tile_for(rows, columns, batch, device)
    copies, result = as_matrices(sch, block, accesses, product, (*tile, STEPS))
    _bind_tiles(sch, block, copies, result, tile, copies_in_background(target))


def as_matrices(
    sch: Schedule,
    block: BlockRV,
    accesses: BlockAccesses,
    product: Product,
    padding: Sequence[int],
    *,
    by_rows: bool = False,
) -> tuple[list[Copy], BlockRV]:
    """Make a product one of matrices, perhaps several, with what is around it in its copies.

    Args:
        sch: the schedule.
        block: the product.
        accesses: what it accesses.
        product: what its iterators stand for.
        padding: numbers of which rows, columns and steps become multiples.
        by_rows: whether the copy of an operand has its elements in the order of the operand where
            that has successive steps next to each other, and those of rows are by rows; otherwise
            rows or columns are next to each other.

    Returns:
        The blocks that copy both operands, and the one that stores the result.
    """
    result = sch.reindex(block, ("write", 0))
    _append_epilogue(sch, result)
    copies = [Copy(sch.reindex(block, ("read", number))) for number in range(2)]
    order = [item.var for item in block_of(sch, block).iter_vars]
    merged = _Merged(accesses)
    for number, (copy, load) in enumerate(zip(copies, accesses.loads, strict=True)):
        _inline_producers_of(sch, copy.block)
        used = [var for var in order if load.mentions(var)]
        copy.is_of_columns = load.mentions(product.columns[0])
        outer = product.columns if copy.is_of_columns else product.rows
        copy.look(sch, [_is_in(var, outer) for var in used])
        groups = [product.batch, product.steps, outer]
        if by_rows and (copy.is_along_steps or not copy.is_of_columns):
            groups = [product.batch, outer, product.steps]
        layout = merged.map(used, groups)
        sch.transform_layout(block, ("read", number), layout)
        sch.transform_block_layout(copy.block, layout)
    spatial = merged.map(accesses.spatial, product[:3])
    sch.transform_layout(block, ("write", 0), spatial)
    sch.transform_block_layout(result, spatial)
    sch.transform_block_layout(block, merged.map(order, product))
    _pad(sch, block, copies, result, [*([1] if product.batch else []), *padding])
    return copies, result


def split_product(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Compute a long product of few tiles in parts of the sum, which a kernel of its own adds up.

    Raises:
        DoesNotFitError: for another block.
        ScheduleError: if a step is refused.
    """
    accesses = plain_nest(sch, block).accesses
    product, device = Product.of(accesses), accelerator_of(target)
    batch, rows, columns, steps = (_count(accesses, part) for part in product)
    tile = tile_for(rows, columns, batch, device)
    blocks = -(-rows // tile.rows) * -(-columns // tile.columns) * batch
    split = product.steps[0]
    most = min(2 * device.multiprocessors // blocks, steps // LEAST_STEPS)
    extent = accesses.extents[split] or 1
    parts = max((n for n in range(1, most + 1) if extent % n == 0), default=1)
    if parts == 1:
        raise DoesNotFitError("there are enough tiles, or few steps")
    order = [Var(item.var.name, item.var.dtype) for item in accesses.block.iter_vars]
    place = next(n for n, item in enumerate(accesses.block.iter_vars) if item.var is split)
    inner = extent // parts
    divided = (as_expr(order[place] // inner), as_expr(order[place] % inner))
    indices = (*order[:place], *divided, *order[place + 1 :])
    sch.transform_block_layout(block, IndexMap(tuple(order), indices))
    part = sch.rfactor(sch.get_loops(block)[place], 0)
    loops = sch.get_loops(part)
    sch.reorder(loops.pop(place), *loops)
    tile_product(sch, part, target)
    bind_reduction(sch, block, target)


def _is_in(var: Var, group: Sequence[Var]) -> bool:
    return any(var is item for item in group)


class _Merged:
    """Index maps that make one index of all iterators of a group."""

    def __init__(self, accesses: BlockAccesses) -> None:
        self._accesses = accesses

    def map(self, variables: Sequence[Var], groups: Sequence[Sequence[Var]]) -> IndexMap:
        """The map of the indices that stand for some iterators, in order, to one for each group."""
        domains = {item.var: item.dom for item in self._accesses.block.iter_vars}
        indices = {var: Var(var.name, var.dtype) for var in variables}
        found: list[Expr] = []
        for group in groups:
            index: Expr | None = None
            for var in group:
                if var in indices:
                    domain = domains[var]
                    assert domain is not None
                    index = indices[var] if index is None else index * domain.extent + indices[var]
            if index is not None:
                found.append(index)
        return IndexMap(tuple(indices.values()), tuple(found))


class Copy:
    """A block that copies an operand into shared memory, and how it is read.

    Attributes:
        block: the block.
        is_along_steps: whether elements of the operand that are next to each other are of
            successive steps.
        is_of_columns: whether it is the operand that has the columns of the result.
        vector: number of elements that are loaded at once.
    """

    def __init__(self, block: BlockRV) -> None:
        self.block, self.is_along_steps, self.vector = block, False, 1
        self.is_of_columns = False

    def look(self, sch: Schedule, is_outer: Sequence[bool]) -> None:
        """See how the operand lies in memory, while the block has the iterators of the product.

        Args:
            sch: the schedule.
            is_outer: of which iterators of the block neighbours are rows or columns.
        """
        accesses = accesses_of(block_of(sch, self.block))
        largest = max(accesses.loads, key=accesses.size, default=None)
        if largest is None:
            return
        variables = [item.var for item in accesses.block.iter_vars]
        outer = [var for var, yes in zip(variables, is_outer, strict=True) if yes]
        others = [var for var in variables if not _is_in(var, outer)]
        run, steps_run = (accesses.run(largest, group) for group in (outer, others))
        self.is_along_steps = steps_run > run
        if not is_conditional(accesses.block.body):
            self.vector = _vector(largest, accesses, others if self.is_along_steps else outer)


def _vector(load: StridedAccess, accesses: BlockAccesses, group: Sequence[Var]) -> int:
    """Number of elements that are loaded at once along a group, each time from such a multiple."""
    run = accesses.run(load, group)
    vector = VECTOR_BYTES // load.buffer.dtype.itemsize
    steps = [load.stride(var) for var in load.strides if accesses.extents[var] != 1]
    far = [step for step in steps if step is None or step >= run or step < 0]
    while vector > 1 and (run % vector or any(step is None or step % vector for step in far)):
        vector //= 2
    return max(vector, 1)


def _pad(
    sch: Schedule, block: BlockRV, copies: Sequence[Copy], result: BlockRV, padding: Sequence[int]
) -> None:
    """Let a product be of whole tiles: copies are 0 behind the end, and results there are left out.

    Where it cannot be padded, conditions keep threads away from what is not there.
    """
    try:
        sch.pad_einsum(block, padding)
    except ScheduleError:
        return
    for copy in copies:
        (consumer,) = sch.get_consumers(copy.block)
        if sch.get(consumer).key != sch.get(block).key:
            sch.compute_inline(copy.block)
            copy.block = consumer
    (producer,) = sch.get_producers(result)
    if sch.get(producer).key != sch.get(block).key:
        sch.compute_inline(producer)


def _bind_tiles(
    sch: Schedule,
    block: BlockRV,
    copies: Sequence[Copy],
    result: BlockRV,
    tile: Tile,
    in_background: bool,
) -> None:
    """Give a product over rows, columns and steps its loops, perhaps with a batch around.

    Args:
        sch: the schedule.
        block: the product.
        copies: the blocks that copy its operands.
        result: the block that stores its result.
        tile: the tile of a block of threads.
        in_background: whether operands of the next steps are copied while threads compute.
    """
    *batch, i, j, k = sch.get_loops(block)
    by, vy, ty, i = _split_tile(sch, i, tile.rows)
    bx, vx, tx, j = _split_tile(sch, j, tile.columns)
    results = tile.rows * tile.columns // THREADS**2
    unrolled = min(UNROLLED // results, STEPS)
    k, outer, inner = sch.split(k, [None, STEPS // unrolled, unrolled])
    sch.reorder(*batch, by, bx, *vy, *vx, ty, tx, k, outer, inner, i, j)
    for loops, axis in (
        (vy, "vthread.y"),
        (vx, "vthread.x"),
        ([ty], "threadIdx.y"),
        ([tx], "threadIdx.x"),
    ):
        for loop in loops:
            sch.bind(loop, axis)
    sch.set_scope(block, 0, "local")
    sch.reverse_compute_at(result, tx)
    for loop in loops_inside(sch, result, tx)[-1:]:
        sch.vectorize(loop)
    for copy in copies:
        if in_background and copy.is_along_steps:
            copy.vector = 1  # elements go to different rows, each by a copy of its own
        _share(sch, copy, k)
    sch.decompose_reduction(block, k)
    sch.unroll(inner)
    if in_background:
        sch.annotate(k, "software_pipeline_stage", [0, 0, 1])
        sch.annotate(k, "software_pipeline_async_stages", [0])
    # Last, since each step is proved again for all loops that are bound.
    bind_blocks(sch, [*batch, by, bx])


def _split_tile(
    sch: Schedule, loop: LoopRV, size: int
) -> tuple[LoopRV, list[LoopRV], LoopRV, LoopRV]:
    """Split rows or columns into tiles, perhaps parts of these, threads, and what one computes."""
    part = min(PART, size // THREADS)
    if size == THREADS * part:
        tile, thread, inner = sch.split(loop, [None, THREADS, part])
        return tile, [], thread, inner
    tile, virtual, thread, inner = sch.split(loop, [None, size // THREADS // part, THREADS, part])
    return tile, [virtual], thread, inner


def _share(sch: Schedule, copy: Copy, place: LoopRV) -> None:
    """Let all threads of a block copy what they need for some steps of the sum."""
    buffer = block_of(sch, copy.block).writes[0].buffer
    if copy.is_along_steps:
        # Neighbouring threads store what is rows apart: rows begin in different banks.
        elements = VECTOR_BYTES // buffer.dtype.itemsize
        sch.storage_align(copy.block, 0, len(buffer.shape) - 2, 8 * elements, elements)
    sch.set_scope(copy.block, 0, "shared")
    sch.compute_at(copy.block, place, preserve_unit_loops=True)
    *_, step, outer = sch.get_loops(copy.block)
    if copy.is_along_steps:
        sch.reorder(outer, step)
        step, outer = outer, step
    part = sch.fuse(step, outer)
    count = extent_of(sch, part) or 1
    vector = max(min(copy.vector, count // THREADS**2), 1)
    _, y, x, lanes = sch.split(part, [None, THREADS, THREADS, vector])
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")
    if vector > 1:
        sch.vectorize(lanes)


def _append_epilogue(sch: Schedule, block: BlockRV) -> None:
    """Compute what happens to each element of the result next in the block that stores it."""
    while True:
        consumers = sch.get_consumers(block)
        if len(consumers) != 1 or not is_complete(sch, consumers[0]):
            return
        try:
            sch.reverse_compute_inline(consumers[0])
        except ScheduleError:
            return


def _inline_producers_of(sch: Schedule, block: BlockRV) -> None:
    """Compute what a copy reads, such as padding, where it reads it."""
    for producer in sch.get_producers(block):
        if is_complete(sch, producer):
            with suppress(ScheduleError):
                sch.compute_inline(producer)
