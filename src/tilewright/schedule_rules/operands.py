"""What the iterators of a sum of products stand for: rows, columns, and steps of the sum."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import BlockAccesses, StridedAccess
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule
from tilewright.tir.transform.analysis.affine import affine, stride_along

NEAR: Final = 2
"""Maximum distance in elements of rows that share cache lines."""

ENOUGH_ROWS: Final = 4
"""Number of rows that use a vector of columns so often that it is loaded in time."""

MANY_ROWS: Final = 1024
"""The number of rows that a symbolic one stands for."""

FEW_ROWS: Final = "tir.few_rows"
"""The attribute of a function that runs only where products of a symbolic number of rows have few:
the number that they are planned for."""

CONSTANT_PARAMS: Final = "tir.constant_params"
"""The attribute with the positions of parameters that are constants in all calls."""

NARROW_PARAMS: Final = "tir.narrow_params"
"""The attribute with the positions of those of int8 whose elements are from -64 to 64."""

MOST_FEW_ROWS: Final = 8
"""Maximum number of rows for which packing the other operand takes longer than it saves."""


@dataclass(frozen=True, eq=False)
class Contraction:
    """How the iterators of a block take part in a product.

    Attributes:
        accesses: the accesses of the block.
        column: the iterator over neighbours in the result, which run along the lanes of a vector.
        row: an iterator that the operand with columns does not depend on, so that each vector of
            it is used for several rows.
        outer: the other spatial iterators.
        moving: the accesses to operands with columns.
        fixed: the accesses to operands without.
        few_rows: the number of rows that a symbolic one stands for, where those are known to be
            few; None where nothing is known.
        narrow: the memory of operands of int8 whose elements are known to be from -64 to 64.
        is_unfolded: whether operands with columns are windows of an image, which are next to each
            other in panels only; see `unfolded_windows.py`.
    """

    accesses: BlockAccesses
    column: Var
    row: Var
    outer: tuple[Var, ...]
    moving: tuple[StridedAccess, ...]
    fixed: tuple[StridedAccess, ...]
    few_rows: int | None = None
    narrow: frozenset[Var] = frozenset()
    is_unfolded: bool = False

    def count(self, var: Var) -> int:
        """How many values an iterator has, as far as that is known."""
        return self.accesses.extent(var, self.few_rows or MANY_ROWS)

    def row_count(self) -> int:
        """How many rows there are, as far as that is known."""
        return self.count(self.row)

    def is_contiguous(self, columns: Sequence[Var]) -> bool:
        """Whether `columns`, as one, run over one stretch of every operand with columns."""
        return all(
            load.stride(self.column) == 1
            and all(self.follows(load, u, v) for u, v in itertools.pairwise(columns))
            for load in self.moving
        )

    def fills_vectors(self, columns: Sequence[Var], lanes: int) -> bool:
        """Whether vectors along `columns`, as one, are each one stretch of every operand with
        columns: all of them are, or the last one has whole vectors only."""
        extent = self.accesses.extents[columns[-1]]
        has_whole = extent is not None and extent % lanes == 0
        return self.is_contiguous(columns) or (has_whole and self.is_contiguous(columns[-1:]))

    def follows(self, access: StridedAccess, outer: Var, inner: Var) -> bool:
        """Whether each step of `outer` is as far as `inner` runs."""
        step, extent = access.stride(inner), self.accesses.extents[inner]
        return step is not None and extent is not None and access.stride(outer) == step * extent

    def has_near_rows(self) -> bool:
        """Whether the rows of a tile are a few cache lines of the operands without columns."""
        steps = [load.stride(self.row) for load in self.fixed]
        return all(step is not None and abs(step) <= NEAR for step in steps)

    def skips_columns(self) -> bool:
        """Whether the columns of a vector are every other element of an operand."""
        steps = [load.stride(self.column) for load in self.moving]
        return None not in steps and {abs(step or 0) for step in steps} == {NEAR}

    def has_windows(self) -> bool:
        """Whether an operand with columns is read in windows."""
        return any(map(self.is_windowed, self.moving))

    def is_windowed(self, access: StridedAccess) -> bool:
        """Whether an operand is read at sums or multiples of iterators, as images are by filters of
        more than one element, or with strides. Groups of channels, of which each has operands and
        results of its own, are no windows."""
        accesses = self.accesses
        groups = {
            var for var in accesses.spatial if all(load.mentions(var) for load in accesses.loads)
        }
        iterators = [v for v in access.strides if accesses.extents[v] != 1 and v not in groups]
        steps = [[stride_along(affine(i), var) for var in iterators] for i in access.indices]
        return any([step for step in along if step != 0] not in ([], [1]) for along in steps)

    def transposed(self) -> Contraction:
        """The same product with its rows as columns."""
        moving = tuple(load for load in self.accesses.loads if load.mentions(self.row))
        fixed = tuple(load for load in self.accesses.loads if not load.mentions(self.row))
        return replace(self, column=self.row, row=self.column, moving=moving, fixed=fixed)

    def other_rows(self) -> list[Var]:
        """The outer iterators that may count as its rows, too."""
        return _independent(self.outer, self.moving, self.column)

    def with_row(self, row: Var) -> Contraction:
        """The same product with another one of the outer iterators as its rows."""
        outer = (self.row if var is row else var for var in self.outer)
        return replace(self, row=row, outer=tuple(outer))

    def mergeable(self) -> tuple[Var, ...]:
        """The columns with those of the outer iterators that continue them in the result.

        They are iterators of the same operands, so that all together may count as columns.
        """
        (store,) = self.accesses.stores
        columns = [self.column]
        for var in reversed(self.outer):
            in_all = all(load.mentions(var) for load in self.moving)
            in_none = not any(load.mentions(var) for load in self.fixed)
            if in_all and in_none and self.follows(store, var, columns[0]):
                columns.insert(0, var)
        return tuple(columns)


def function_of(sch: Schedule) -> PrimFunc | None:
    """The function at hand, if it is a tensor program."""
    var = sch.func_working_on
    func = None if var is None else sch.mod[var.name_hint]
    return func if isinstance(func, PrimFunc) else None


def few_rows(sch: Schedule) -> int | None:
    """The maximum number of rows of products of the function at hand; None if nothing is known."""
    func = function_of(sch)
    found = None if func is None else func.attrs.get(FEW_ROWS)
    return None if found is None else int(found)


def constant_memory(sch: Schedule) -> frozenset[Var]:
    """The memory of parameters of the function at hand that are constants in all calls."""
    func = function_of(sch)
    return frozenset() if func is None else constants_of(func)


def constants_of(func: PrimFunc) -> frozenset[Var]:
    """The memory of parameters of a function that are constants in all calls."""
    return _memory_of(func, CONSTANT_PARAMS)


def narrow_memory(sch: Schedule) -> frozenset[Var]:
    """The memory of parameters of the function at hand whose elements are from -64 to 64."""
    func = function_of(sch)
    return frozenset() if func is None else _memory_of(func, NARROW_PARAMS)


def _memory_of(func: PrimFunc, attribute: str) -> frozenset[Var]:
    """The memory of the parameters whose positions an attribute has."""
    params = [func.params[int(position)] for position in func.attrs.get(attribute) or ()]
    return frozenset(func.buffer_map[param].data for param in params)


def find_contraction(accesses: BlockAccesses) -> Contraction | None:
    """The block as a contraction, if it is one."""
    product = _product(accesses)
    if product is None:
        return None
    column, moving, fixed = product
    spatial = [var for var in accesses.spatial if accesses.extents[var] != 1]
    rows = _independent(spatial, moving, column)
    if not rows and any(accesses.uses(load) > 1 for load in moving):
        rows = _independent(spatial, fixed, column)[-1:]
    if not rows:
        return None
    row = _best_row(rows, accesses)
    outer = tuple(var for var in spatial if var is not column and var is not row)
    return Contraction(accesses, column, row, outer, moving, fixed)


def contraction_in(sch: Schedule, accesses: BlockAccesses) -> Contraction | None:
    """A block as a contraction, if it is one, with what is known about its function."""
    found = find_contraction(accesses)
    if found is None:
        return None
    return replace(found, few_rows=few_rows(sch), narrow=narrow_memory(sch))


def find_single_row(accesses: BlockAccesses) -> Contraction | None:
    """The block as a product of one row, which has an iterator of its own, with a matrix, if it is
    that."""
    product = _product(accesses)
    if product is None or len(accesses.loads) != 2:
        return None
    column, moving, fixed = product
    single = [var for var in accesses.spatial if accesses.extents[var] == 1]
    rows = _independent(single, moving, column)
    if not rows:
        return None
    outer = tuple(var for var in accesses.spatial if var is not column and var is not rows[-1])
    return Contraction(accesses, column, rows[-1], outer, moving, fixed)


def _product(
    accesses: BlockAccesses,
) -> tuple[Var, tuple[StridedAccess, ...], tuple[StridedAccess, ...]] | None:
    """The columns of a product, and the operands that depend on them and those that do not; None
    for what is no sum, or has no operands of both kinds."""
    if accesses.reduces is None or not accesses.reduces.is_order_free:
        return None
    if len(accesses.stores) != 1 or len(accesses.loads) < 2:
        return None
    spatial = (var for var in accesses.spatial if accesses.extents[var] != 1)
    column = next((var for var in spatial if accesses.stores[0].stride(var) == 1), None)
    if column is None:
        return None
    moving = tuple(load for load in accesses.loads if load.mentions(column))
    fixed = tuple(load for load in accesses.loads if not load.mentions(column))
    return (column, moving, fixed) if moving and fixed else None


def _best_row(rows: Sequence[Var], accesses: BlockAccesses) -> Var:
    """The iterator with the most values. One of symbolic extent counts as a few, as a batch may be
    one row; of several, the innermost: a sequence in a batch rather than the batch."""
    most = max((n for n in map(accesses.extents.get, rows) if n is not None), default=0)
    symbolic = [var for var in rows if accesses.extents[var] is None]
    if symbolic and most < ENOUGH_ROWS:
        return symbolic[-1]
    return next(var for var in reversed(rows) if accesses.extents[var] == most)


def _independent(spatial: Sequence[Var], loads: Sequence[StridedAccess], column: Var) -> list[Var]:
    """The iterators besides `column` that none of `loads` depends on."""
    return [
        var
        for var in spatial
        if var is not column and not any(load.mentions(var) for load in loads)
    ]
