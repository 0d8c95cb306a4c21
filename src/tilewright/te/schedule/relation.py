"""How iteration variables of a stage follow from each other.

A relation has parents, which exist before it is made, and children, which replace them as loops.
From the ranges of the parents it knows those of the children, and from the values of the children
those of the parents. Where a stage is computed inside of another one, its axes range over a part
of their domains only, and so do all variables that follow from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import floordiv, floormod, minimum
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT32, INT64, promote
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.buffer import ONE, ZERO, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_limits import is_product_bounded
from tilewright.tir.op.math import ceildiv

Ranges = Mapping[IterVar, Range]


class Relation:
    """Base class of relations between iteration variables."""

    __slots__ = ()
    verb = ""
    """What was done to the parents, in the past participle."""

    parents: tuple[IterVar, ...]
    children: tuple[IterVar, ...]

    def child_ranges(self, ranges: Ranges) -> tuple[Range, ...]:
        """The ranges of the children where the parents have the given ranges."""
        raise NotImplementedError

    def parent_values(self, children: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        """The values of the parents where the children have the given values."""
        raise NotImplementedError

    def child_values(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        """The values of the children where the parents have the given values."""
        raise NotImplementedError

    def requirements(self) -> list[tuple[Expr, str]]:
        """What must hold where the function is called, with the words for it."""
        return []

    def guards(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        """What must hold of the parents' values, as children may run over the parents' range."""
        del parents, ranges
        return ()


class Split(Relation):
    """One loop into two: ``parent = outer * factor + inner``.

    The inner loop has the extent `factor`, or the outer one the extent `nparts`. If `guarded`,
    instances beyond the domain of the parent are skipped.
    """

    __slots__ = ("_guarded", "children", "factor", "inner", "nparts", "outer", "parent", "parents")
    verb = "split"

    def __init__(
        self, parent: IterVar, factor: Expr | None, nparts: Expr | None, guarded: bool = True
    ) -> None:
        self.parent, self.parents = parent, (parent,)
        self.factor, self.nparts = factor, nparts
        outer, inner = self.child_ranges({parent: domain(parent)})
        self.outer = _derived(f"{parent.name}_outer", parent, outer)
        self.inner = _derived(f"{parent.name}_inner", parent, inner)
        self.children = (self.outer, self.inner)
        self._guarded = guarded

    def requirements(self) -> list[tuple[Expr, str]]:
        count = self.factor if self.nparts is None else self.nparts
        extent = domain(self.parent).extent
        if count is None or isinstance(count, IntImm):
            return []
        found = [(as_expr(count > 0), f"{count} must be positive")]
        if count.dtype.bits >= extent.dtype.bits:
            fits = as_expr(count <= extent.dtype.max_int - extent)
            found.append((fits, f"{extent} + {count} must fit {extent.dtype}"))
        return found

    def _extents(self, extent: Expr) -> tuple[Expr, Expr]:
        """How many parts there are, and how long a whole part is."""
        if self.nparts is None:
            assert self.factor is not None
            factor = cast(extent.dtype, self.factor)
            return _rounded_up(extent, factor), factor
        nparts = cast(extent.dtype, self.nparts)
        return nparts, _rounded_up(extent, nparts)

    def child_ranges(self, ranges: Ranges) -> tuple[Range, ...]:
        whole = ranges[self.parent].extent
        return tuple(Range.from_extent(_at_most(extent, whole)) for extent in self._extents(whole))

    def parent_values(self, children: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        outer, inner = children
        dom = ranges[self.parent]
        return (outer * self._extents(dom.extent)[1] + inner + dom.min,)

    def child_values(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        dom = ranges[self.parent]
        position, factor = parents[0] - dom.min, self._extents(dom.extent)[1]
        return floordiv(position, factor), floormod(position, factor)

    def guards(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        dom, outer, inner = ranges[self.parent], ranges[self.outer], ranges[self.inner]
        if not self._guarded or _is_at_most(outer.extent, inner.extent, dom.extent):
            return ()
        return (parents[0] < dom.min + dom.extent,)


class Fuse(Relation):
    """Two loops into one: ``outer = fused // inner_extent, inner = fused % inner_extent``.

    The fused loop counts in int64 if its iterations may be too many for the dtype of the loops; the
    shapes of the arrays that functions are called with limit them.
    """

    __slots__ = ("_dtype", "children", "fused", "inner", "outer", "parents")
    verb = "fused"

    def __init__(
        self, outer: IterVar, inner: IterVar, shapes: Iterable[Sequence[Expr]] = ()
    ) -> None:
        self.outer, self.inner = outer, inner
        self.parents = (outer, inner)
        domains = {outer: domain(outer), inner: domain(inner)}
        self._dtype = promote(outer.dtype, inner.dtype)
        extents = [dom.extent for dom in domains.values()]
        if not is_product_bounded(extents, shapes, self._dtype):
            self._dtype = INT64
        (dom,) = self.child_ranges(domains)
        self.fused = IterVar(
            dom,
            Var(f"{outer.name}_{inner.name}_fused", dom.extent.dtype),
            max(outer.iter_type, inner.iter_type),
        )
        self.children = (self.fused,)

    def child_ranges(self, ranges: Ranges) -> tuple[Range, ...]:
        dtype = self._dtype
        outer, inner = (cast(dtype, ranges[parent].extent) for parent in self.parents)
        return (Range.from_extent(outer * inner),)

    def parent_values(self, children: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        extent = ranges[self.inner].extent
        outer = floordiv(children[0], extent) + ranges[self.outer].min
        inner = floormod(children[0], extent) + ranges[self.inner].min
        return cast(self.outer.dtype, outer), cast(self.inner.dtype, inner)

    def child_values(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        dtype = self._dtype
        outer, inner = (
            cast(dtype, as_expr(value - ranges[parent].min))
            for value, parent in zip(parents, self.parents, strict=True)
        )
        return (outer * cast(dtype, ranges[self.inner].extent) + inner,)


class Singleton(Relation):
    """A loop of one iteration, which follows from nothing."""

    __slots__ = ("children", "loop", "parents")
    verb = "made"

    def __init__(self) -> None:
        self.loop = IterVar(Range.from_extent(ONE), Var("singleton", INT32), IterType.DATA_PAR)
        self.parents, self.children = (), (self.loop,)

    def child_ranges(self, ranges: Ranges) -> tuple[Range, ...]:
        return (domain(self.loop),)

    def parent_values(self, children: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        return ()

    def child_values(self, parents: tuple[Expr, ...], ranges: Ranges) -> tuple[Expr, ...]:
        return (ZERO,)


Values = dict[IterVar, Expr]


def values_above(
    relations: Sequence[Relation], ranges: Ranges, leaves: Mapping[IterVar, Expr]
) -> Values:
    """The values of the iteration variables that follow from the given values of leaves."""
    values: Values = dict(leaves)
    for relation in reversed(relations):
        if all(child in values for child in relation.children):
            children = tuple(values[child] for child in relation.children)
            parents = relation.parent_values(children, ranges)
            values.update(zip(relation.parents, parents, strict=True))
    return values


def values_below(
    relations: Sequence[Relation], ranges: Ranges, axes: Mapping[IterVar, Expr]
) -> Values:
    """The values of the iteration variables that follow from the given values of axes."""
    values: Values = dict(axes)
    for relation in relations:
        if all(parent in values for parent in relation.parents):
            parents = tuple(values[parent] for parent in relation.parents)
            children = relation.child_values(parents, ranges)
            values.update(zip(relation.children, children, strict=True))
    return values


def guards_of(relations: Sequence[Relation], ranges: Ranges, values: Values) -> list[Expr]:
    """What must hold so that all variables with the given values are in their ranges."""
    guards: list[Expr] = []
    for relation in relations:
        if all(parent in values for parent in relation.parents):
            parents = tuple(values[parent] for parent in relation.parents)
            guards += relation.guards(parents, ranges)
    return guards


def domain(axis: IterVar) -> Range:
    """The domain of an iteration variable of a stage, which is always known."""
    assert axis.dom is not None
    return axis.dom


def _rounded_up(extent: Expr, size: Expr) -> Expr:
    """How many parts of a size cover an extent."""
    count = ceildiv(extent, size)
    return count if isinstance(count, IntImm) else Analyzer().simplify(count)


def _is_at_most(a: Expr, b: Expr, limit: Expr) -> bool:
    """Whether the product of `a` and `b`, which their dtype may not hold, is at most `limit`."""
    if isinstance(a, IntImm) and isinstance(b, IntImm) and isinstance(limit, IntImm):
        return a.value * b.value <= limit.value
    return Analyzer().can_prove(a * b <= limit)


def _derived(name: str, parent: IterVar, dom: Range) -> IterVar:
    return IterVar(dom, Var(name, dom.extent.dtype), parent.iter_type)


def _at_most(extent: Expr, limit: Expr) -> Expr:
    """`extent`, or the extent of the parent if that is known to be smaller."""
    both_known = isinstance(extent, IntImm) and isinstance(limit, IntImm)
    return minimum(extent, limit) if both_known else extent
