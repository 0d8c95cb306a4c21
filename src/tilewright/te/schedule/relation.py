"""How iteration variables of a stage follow from each other.

A relation has parents, which exist before it is made, and children, which replace them as loops.
It knows the domains of the children, and the values of the parents in terms of the children.
"""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import floordiv, floormod, minimum
from tilewright.ir.convert import cast
from tilewright.ir.dtype import promote
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterVar


class Relation:
    """Base class of relations between iteration variables."""

    __slots__ = ()
    verb = ""
    """What was done to the parents, in the past participle."""

    parents: tuple[IterVar, ...]
    children: tuple[IterVar, ...]

    def parent_values(self, children: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The values of the parents where the children have the given values."""
        raise NotImplementedError

    def guard(self, parents: tuple[Expr, ...]) -> Expr | None:
        """What must hold of the parents' values, as children may run over the parents' domain."""
        del parents
        return None


class Split(Relation):
    """One loop into two: ``parent = outer * factor + inner``.

    Args:
        parent: the iteration variable.
        factor: extent of the inner loop; or None.
        nparts: extent of the outer loop, where `factor` is None.
        guarded: whether instances beyond the parent's domain must be skipped.
    """

    __slots__ = ("children", "factor", "guarded", "inner", "outer", "parent", "parents")
    verb = "split"

    def __init__(
        self, parent: IterVar, factor: Expr | None, nparts: Expr | None, guarded: bool = True
    ) -> None:
        extent = domain(parent).extent
        given = cast(extent.dtype, factor if factor is not None else nparts)
        other = ceildiv(extent, given)
        outer_extent, inner_extent = (other, given) if nparts is None else (given, other)
        self.factor = inner_extent
        self.parent, self.parents = parent, (parent,)
        self.outer = _derived(f"{parent.name}_outer", parent, _at_most(outer_extent, extent))
        self.inner = _derived(f"{parent.name}_inner", parent, _at_most(inner_extent, extent))
        self.children = (self.outer, self.inner)
        self.guarded = guarded and not _covers_exactly(self.outer, self.inner, extent)

    def parent_values(self, children: tuple[Expr, ...]) -> tuple[Expr, ...]:
        outer, inner = children
        return (outer * self.factor + inner + domain(self.parent).min,)

    def guard(self, parents: tuple[Expr, ...]) -> Expr | None:
        if not self.guarded:
            return None
        dom = domain(self.parent)
        return parents[0] < dom.min + dom.extent


class Fuse(Relation):
    """Two loops into one: ``outer = fused // inner_extent, inner = fused % inner_extent``."""

    __slots__ = ("children", "fused", "inner", "outer", "parents")
    verb = "fused"

    def __init__(self, outer: IterVar, inner: IterVar) -> None:
        self.outer, self.inner = outer, inner
        self.parents = (outer, inner)
        dtype = promote(outer.dtype, inner.dtype)
        extent = cast(dtype, domain(outer).extent) * cast(dtype, domain(inner).extent)
        self.fused = IterVar(
            Range(IntImm(dtype, 0), extent),
            Var(f"{outer.name}_{inner.name}_fused", dtype),
            max(outer.iter_type, inner.iter_type),
        )
        self.children = (self.fused,)

    def parent_values(self, children: tuple[Expr, ...]) -> tuple[Expr, ...]:
        extent = domain(self.inner).extent
        outer = floordiv(children[0], extent) + domain(self.outer).min
        inner = floormod(children[0], extent) + domain(self.inner).min
        return cast(self.outer.dtype, outer), cast(self.inner.dtype, inner)


def domain(axis: IterVar) -> Range:
    """The domain of an iteration variable of a stage, which is always known."""
    assert axis.dom is not None
    return axis.dom


def ceildiv(a: Expr, b: Expr) -> Expr:
    """The quotient rounded up."""
    return Analyzer().simplify(floordiv(a + b - 1, b))


def _derived(name: str, parent: IterVar, extent: Expr) -> IterVar:
    dtype = extent.dtype
    return IterVar(Range(IntImm(dtype, 0), extent), Var(name, dtype), parent.iter_type)


def _at_most(extent: Expr, limit: Expr) -> Expr:
    """`extent`, or the extent of the parent if that is known to be smaller."""
    both_known = isinstance(extent, IntImm) and isinstance(limit, IntImm)
    return minimum(extent, limit) if both_known else extent


def _covers_exactly(outer: IterVar, inner: IterVar, extent: Expr) -> bool:
    return Analyzer().can_prove(domain(outer).extent * domain(inner).extent <= extent)
