"""What each block of a function accesses, for people: per instance, and all instances together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tilewright.arith import Analyzer
from tilewright.arith.interval import interval_of
from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var, constant_product
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize

Item = TypeVar("Item")


class TextTable(Sequence[Item]):
    """A list that prints as a table with aligned columns.

    Subclasses say what is in its rows.
    """

    heading: tuple[str, ...]
    """Of each column."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = tuple(items)

    def row(self, item: Item) -> tuple[str, ...]:
        """What the columns say about an item."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __str__(self) -> str:
        rows = [self.heading, *map(self.row, self._items)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    __repr__ = __str__


class BlockFootprint(NamedTuple):
    """What a block accesses of one buffer.

    Attributes:
        block: the block.
        action: ``"reads"`` or ``"writes"``.
        instance: what one instance accesses, in terms of the iterators.
        whole: what all instances access together: a box around it.
        size: bytes of that box; None if an extent is symbolic.
    """

    block: Block
    action: str
    instance: BufferRegion
    whole: BufferRegion
    size: int | None


class FootprintTable(TextTable[BlockFootprint]):
    """A list of `BlockFootprint` that prints as a table."""

    heading = ("block", "", "one instance", "all instances", "bytes")

    def row(self, item: BlockFootprint) -> tuple[str, ...]:
        return (
            item.block.name_hint,
            item.action,
            region_text(item.instance),
            region_text(item.whole),
            "" if item.size is None else f"{item.size:,}",
        )


def footprints(func: PrimFunc) -> FootprintTable:
    """What each block of `func` that contains no other block reads and writes::

        >>> print(tvm.tir.analysis.footprints(func))
        block          one instance  all instances        bytes
        C      reads   A[v_m, v_k]   A[0:1024, 0:2048]    8,388,608
        C      writes  C[v_m, v_l]   C[0:1024, 0:1024]    4,194,304

    Args:
        func: a function made of blocks.
    """
    if not isinstance(func, PrimFunc):
        raise ArgumentError(f"footprints: expected a PrimFunc, got {func!r}")
    found: list[BlockFootprint] = []
    _collect(func.body, {}, found)
    return FootprintTable(found)


def _collect(root: Any, domains: Mapping[Var, Range], found: list[BlockFootprint]) -> None:
    """Add the footprints of the leaf blocks below `root`; `domains` are those of outer blocks."""
    for node in walk(root, skip=lambda node: isinstance(node, BlockRealize)):
        if isinstance(node, BlockRealize):
            block = node.block
            inner = {item.var: item.dom for item in block.iter_vars if item.dom is not None}
            if any(isinstance(below, BlockRealize) for below in walk(block.body)):
                _collect(block.body, {**domains, **inner}, found)
            else:
                found += _of_block(block, {**domains, **inner})


def _of_block(block: Block, domains: Mapping[Var, Range]) -> Iterator[BlockFootprint]:
    for action, regions in (("reads", block.reads), ("writes", block.writes)):
        for region in regions:
            whole = BufferRegion(region.buffer, tuple(_whole(region, domains)))
            yield BlockFootprint(block, action, region, whole, _bytes(whole))


def _whole(region: BufferRegion, domains: Mapping[Var, Range]) -> Iterator[Range]:
    analyzer = Analyzer()
    for item, extent in zip(region.region, region.buffer.shape, strict=True):
        low = interval_of(item.min, domains, analyzer).min_value
        high = interval_of(item.min + item.extent - 1, domains, analyzer).max_value
        if low is None or high is None:
            yield Range.from_min_extent(const(0, extent.dtype), extent)
        else:
            yield Range.from_min_extent(low, analyzer.simplify(high - low + 1))


def _bytes(region: BufferRegion) -> int | None:
    elements = constant_product(item.extent for item in region.region)
    return None if elements is None else elements * region.buffer.dtype.itemsize


def region_text(region: BufferRegion) -> str:
    """A region as a script writes it, such as ``A[vi, 0:8]``."""
    return f"{region.buffer.name}[{', '.join(map(_range_text, region.region))}]"


def _range_text(item: Range) -> str:
    if isinstance(item.extent, IntImm) and item.extent.value == 1:
        return _number(item.min)
    return f"{_number(item.min)}:{_number(Analyzer().simplify(item.min + item.extent))}"


def _number(expr: Expr) -> str:
    """A position, bare if it is a constant of whatever dtype."""
    return str(expr.value if isinstance(expr, IntImm) else expr)


@deep_recursion
def get_block_access_region(
    block: Block, buffer_var_map: Mapping[Var, Any] | None = None
) -> list[list[BufferRegion]]:
    """What one instance of `block` reads and writes, inferred from its body.

    Args:
        block: the block; what it declares does not count.
        buffer_var_map: accepted for compatibility; buffers are found in the body.

    Returns:
        The regions read, those written, and those of which nothing more is known: if the body uses
        a pointer, all that the block declares.
    """
    del buffer_var_map
    try:
        reads, writes = infer_block_regions(block)
    except DiagnosticError:
        return [[], [], [*block.reads, *block.writes]]
    return [list(reads), list(writes), []]
