"""Products of a symbolic number of rows, which may be one or a few, as in the step of a decoder.

For many rows, the operand with columns is packed first. That takes several times as long as what
a few rows need of it, so a function with such a product has a version for a single row, and others
for a few rows where these are computed without packing::

    if m == 1:
        ...             # a vector times a matrix
    else:
        if m <= 8:
            ...         # tiles of a few rows, of the matrix as it is
        else:
            if m <= 127:
                ...     # the matrix block by block
            else:
                ...     # panels of the matrix, tiles of many rows

Where the matrix has rows as well, as in ``x @ w.T``, vectors run along the sums of a few more rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.unique_names import UniqueNames
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.contraction import (
    plans,
    prefers_vectors_along,
    reads_matrix_once,
)
from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.near_panels import BLOCK_USES, FEW_USES
from tilewright.schedule_rules.operands import (
    FEW_ROWS,
    MOST_FEW_ROWS,
    Contraction,
    constants_of,
    find_contraction,
)
from tilewright.schedule_rules.row_products import find_row_products
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.stmt import Block, BlockRealize, IfThenElse
from tilewright.tir.substitute import symbolic_sizes, with_sizes
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.machine import Machine

SOME_ROWS: Final = 32
"""The number of rows that are counted on where they may be more."""

MOST_ROWS_IN_TILES: Final = 64
"""Maximum number of rows that are packed instead of the matrix for products in tile registers."""

MOST_ROWS_ALONG: Final = 24
"""Maximum number of rows that are few where both operands have rows, so that vectors run along the
sum."""


def sizes_of_rows(func: PrimFunc, machine: Machine) -> list[Var]:
    """The symbolic sizes of the parameters that count rows of products which pack the other operand
    in each call."""
    sizes = symbolic_sizes(func)
    if not sizes:
        return []
    blocks = [s.block for s in statements(func.body) if isinstance(s, BlockRealize)]
    rows = {var for block in blocks for var in _rows_of(block, machine, constants_of(func))}
    return [var for var in sizes if var in rows]


def _rows_of(block: Block, machine: Machine, constants: frozenset[Var]) -> Iterator[Expr]:
    """The numbers of rows of a block that packs the other operand."""
    if not block.iter_vars:
        return
    accesses = accesses_of(block)
    found = find_contraction(accesses)
    if found is None or accesses.extents[found.row] is not None:
        return
    plan = next(iter(plans(found, machine, 0, constants)), None)
    if plan is None or not plan.packed or plan.found.moving[0].buffer.data in constants:
        return
    for item in block.iter_vars:
        if item.dom is not None and not any(load.mentions(item.var) for load in found.moving):
            yield item.dom.extent


def counts_of_few_rows(func: PrimFunc, machine: Machine) -> list[int]:
    """How many rows are few for products of a symbolic number of them, in ascending order: those
    for which nothing, or only the rows, are packed."""
    constants, few, some = constants_of(func), [], []
    for stmt in statements(func.body):
        accesses = accesses_of(stmt.block) if isinstance(stmt, BlockRealize) else None
        product = None if accesses is None or not accesses.extents else find_contraction(accesses)
        if product is not None and product.accesses.extents[product.row] is None:
            few.append(_most_few_rows(product, machine, constants))
            some.append(_most_rows_of_blocks(product, machine, constants))
    return sorted({min(filter(None, counts)) for counts in (few, some) if any(counts)})


def _most_few_rows(found: Contraction, machine: Machine, constants: frozenset[Var]) -> int | None:
    some = _best_plan(found, SOME_ROWS, machine, constants)
    if some is not None and some.in_tiles and some.transposed:
        return MOST_ROWS_IN_TILES
    for most in (MOST_ROWS_ALONG, MOST_FEW_ROWS):
        few = replace(found, few_rows=most)
        ways = plans(few, machine, 0, constants)
        along = find_row_products(few, machine, 0, constants)
        if along is not None and prefers_vectors_along(along, ways, constants):
            return most
    if not ways or (ways[0].packed and not reads_matrix_once(ways[0], few, constants)):
        return None
    return MOST_FEW_ROWS


def _most_rows_of_blocks(
    found: Contraction, machine: Machine, constants: frozenset[Var]
) -> int | None:
    """How many rows use a matrix block by block."""

    def use_blocks(rows: int) -> bool:
        best = _best_plan(found, rows, machine, constants)
        return best is not None and best.reads_blocks

    if not use_blocks(SOME_ROWS):
        return None
    return next((uses - 1 for uses in (BLOCK_USES, FEW_USES) if use_blocks(uses - 1)), None)


def _best_plan(
    found: Contraction, few_rows: int, machine: Machine, constants: frozenset[Var]
) -> Plan | None:
    """The best way for a few rows, if there is one."""
    return next(iter(plans(replace(found, few_rows=few_rows), machine, 0, constants)), None)


def with_few_rows(func: PrimFunc, most: int) -> PrimFunc:
    """A function for where there are `most` rows, or fewer: if they are many, about a quarter."""
    return func.with_attr(FEW_ROWS, min(most, SOME_ROWS))


def with_one_row(func: PrimFunc, sizes: Sequence[Var]) -> PrimFunc:
    """A function for where these sizes are 1."""
    return with_sizes(func, {var: const(1, var.dtype) for var in sizes})


def is_one_row(sizes: Iterable[Var]) -> Expr:
    """The condition that these sizes are 1."""
    condition: Expr = const(True, BOOL)
    for var in sizes:
        condition = logical_and(condition, var.equal(const(1, var.dtype)))
    return condition


def are_few_rows(sizes: Iterable[Var], most: int) -> Expr:
    """The condition that each of these sizes is `most` or smaller."""
    condition: Expr = const(True, BOOL)
    for var in sizes:
        condition = logical_and(condition, var <= const(most, var.dtype))
    return condition


def joined(func: PrimFunc, version: PrimFunc, condition: Expr) -> PrimFunc:
    """`func` which runs the body of another function under a condition.

    Args:
        func: a function with a root block.
        version: what `with_one_row` or `with_few_rows` makes of it, with a schedule of its own.
    """
    names = UniqueNames()
    buffers = {version.buffer_map[param]: buffer for param, buffer in func.buffer_map.items()}
    cases = [
        BlockRealize((), IntImm(BOOL, 1), copied(case, names.unique, {}, buffers, keyed=False))
        for case in (version.body.block, func.body.block)  # type: ignore[attr-defined]
    ]
    root = Block((), (), (), names.unique("root"), IfThenElse(condition, cases[0], cases[1]))
    return func.with_body(BlockRealize((), IntImm(BOOL, 1), root))
