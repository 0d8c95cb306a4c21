"""How far apart in memory the elements are that neighbouring instances of a block access."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import multiply
from tilewright.ir.cache import LRUCache
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import represents
from tilewright.ir.expr import Cast, Expr, Min, Var, const_int_value
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.reduction import Reduction, match_reduction
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import Block, BufferStore
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import affine, stride_along, structural_key

UNKNOWN = None
"""The stride of an index that is not a sum of multiples of the iterators, or of a symbolic size."""


@dataclass(frozen=True, eq=False)
class StridedAccess:
    """One load or store of a block.

    Attributes:
        buffer: what is accessed.
        indices: where.
        strides: for each iterator that the indices mention, by how many elements the place moves
            from one value to the next; `UNKNOWN` where that is not a constant number.
    """

    buffer: Buffer
    indices: tuple[Expr, ...]
    strides: Mapping[Var, int | None]

    def mentions(self, var: Var) -> bool:
        """Whether the place depends on the iterator `var`."""
        return var in self.strides

    def stride(self, var: Var) -> int | None:
        """By how many elements the place moves with `var`; 0 if it does not."""
        return self.strides.get(var, 0)

    def elements(self, otherwise: int) -> int:
        """Number of elements of the buffer; symbolic extents count as `otherwise`."""
        shape = (const_int_value(extent) for extent in self.buffer.shape)
        return math.prod(otherwise if extent is None else extent for extent in shape)


class BlockAccesses:
    """The iterators of a block, and its accesses to memory in terms of them.

    Attributes:
        block: the block.
        loads: what its body loads, each element once, in the order of the body, without those that
            a reduction updates.
        stores: what its body stores.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.extents = {
            item.var: const_int_value(None if item.dom is None else item.dom.extent)
            for item in block.iter_vars
        }
        self._most = {
            item.var: most
            for item in block.iter_vars
            if item.dom is not None and (most := _upper_bound(item.dom.extent)) is not None
        }
        variables = [item.var for item in block.iter_vars]
        nodes = list(walk(block.body))
        self.stores = [
            access_to(node.buffer, node.indices, variables)
            for node in nodes
            if isinstance(node, BufferStore)
        ]
        written = {store.buffer.data for store in self.stores}
        loads: dict[Hashable, BufferLoad] = {}
        for node in nodes:
            if isinstance(node, BufferLoad) and node.buffer.data not in written:
                loads.setdefault((node.buffer, *map(structural_key, node.indices)), node)
        self.loads = [access_to(load.buffer, load.indices, variables) for load in loads.values()]

    @property
    def spatial(self) -> list[Var]:
        """The data-parallel iterators, in order."""
        return self._of_type(IterType.DATA_PAR)

    @property
    def reduction(self) -> list[Var]:
        """The reduction iterators, in order."""
        return self._of_type(IterType.COMM_REDUCE)

    @cached_property
    def reduces(self) -> Reduction | None:
        """The reduction that the block is, if it initialises its elements."""
        return match_reduction(self.block) if self.block.init is not None else None

    @cached_property
    def converted(self) -> list[StridedAccess]:
        """The loads whose elements are converted to the type of the result, which has all their
        values, before anything else is done with them."""
        dtype = self.stores[0].buffer.dtype
        nodes = list(walk(self.block.body))
        values = {node.value for node in nodes if isinstance(node, Cast) and node.dtype is dtype}
        loads = [node for node in nodes if isinstance(node, BufferLoad)]
        others = {load.buffer for load in loads if load not in values}
        narrower = [load for load in self.loads if represents(dtype, load.buffer.dtype)]
        return [load for load in narrower if load.buffer not in others]

    def _of_type(self, kind: IterType) -> list[Var]:
        return [item.var for item in self.block.iter_vars if item.iter_type is kind]

    def extent(self, var: Var, otherwise: int = 1024) -> int:
        """How many values an iterator has; `otherwise`, or an upper bound, where that is
        symbolic."""
        found = self.extents[var]
        return min(otherwise, self._most.get(var, otherwise)) if found is None else found

    def is_multiple(self, var: Var, factor: int) -> bool:
        """Whether an iterator is known to have a multiple of `factor` values."""
        found = self.extents[var]
        if found is not None:
            return found % factor == 0
        dom = next(item.dom for item in self.block.iter_vars if item.var is var)
        if factor == 1 or dom is None:
            return factor == 1
        known = Analyzer().modular_set(dom.extent)
        return known.coeff % factor == 0 and known.base % factor == 0

    def are_multiples(self, factors: Mapping[Var, int]) -> bool:
        """Whether each of some iterators is known to have a multiple of a number of values."""
        return all(self.is_multiple(var, factor) for var, factor in factors.items())

    def count(self, variables: Iterable[Var]) -> int:
        """How many combinations of values some iterators have."""
        total = 1
        for var in variables:
            total *= self.extent(var)
        return total

    def known_count(self, variables: Iterable[Var]) -> int | None:
        """How many combinations of values some iterators have; None if one is symbolic."""
        variables = list(variables)
        return None if None in map(self.extents.get, variables) else self.count(variables)

    def continues(self, outer: Var, inner: Var, or_not: bool = False) -> bool:
        """Whether each step of `outer` is as far as `inner` runs, in all operands and results, or
        in those that depend on `outer` at all."""
        loads = [load for load in self.loads if not or_not or load.mentions(outer)]
        accesses, extent = (*loads, *self.stores), self.extents[inner]
        if extent is None:
            return all(self._fills_rows(access, outer, inner) for access in accesses)
        return all(
            is_loaded_place(access, outer, inner)
            or _are_steps(access.stride(outer), access.stride(inner), extent)
            for access in accesses
        )

    def _fills_rows(self, access: StridedAccess, outer: Var, inner: Var) -> bool:
        """Whether two iterators are the last indices, and the rows as long as `inner` runs, which
        is a symbolic number; or an access mentions neither."""
        if not access.mentions(outer) and not access.mentions(inner):
            return True
        before, indices = access.indices[:-2], access.indices[-2:]
        if access.buffer.strides or len(indices) < 2:
            return False
        if indices[0] is not outer or indices[1] is not inner:
            return False
        elsewhere = [var for index in before for var in variables_of(index)]
        if any(var is outer or var is inner for var in elsewhere):
            return False
        dom = next(item.dom for item in self.block.iter_vars if item.var is inner)
        return dom is not None and structural_equal(dom.extent, access.buffer.shape[-1])

    def run(self, access: StridedAccess, variables: Sequence[Var]) -> int:
        """Number of elements next to each other that some iterators count, the last one fastest."""
        run = 1
        for var in reversed(variables):
            if self.extent(var) != 1:
                if access.stride(var) != run:
                    break
                run *= self.extent(var)
        return run

    def uses(self, access: StridedAccess, otherwise: int = 1024) -> float:
        """How often each element that is accessed is used on average, at the least.

        Args:
            otherwise: what symbolic extents count as.
        """
        accessed = math.prod(self.extent(var, otherwise) for var in access.strides)
        total = math.prod(self.extent(var, otherwise) for var in self.extents)
        return total / max(1, min(access.elements(otherwise), accessed))

    def size(self, access: StridedAccess, otherwise: int = 1024) -> int:
        """Maximum number of bytes that all instances access together.

        Args:
            otherwise: what symbolic extents count as.
        """
        extents = (self.extent(var, otherwise) for var in access.strides)
        return math.prod(extents) * access.buffer.dtype.itemsize


def _upper_bound(extent: Expr) -> int | None:
    """A constant that a symbolic extent never exceeds, if one is known."""
    if not any(isinstance(node, Min) for node in walk(extent)):
        return None
    most = Analyzer().const_int_bound(extent).max_value
    return None if math.isinf(most) else int(most)


_KNOWN: Final[LRUCache[list[BlockAccesses]]] = LRUCache(1024)


def accesses_of(block: Block) -> BlockAccesses:
    """The accesses of a block; they are remembered for the same object."""
    found = _KNOWN.get(block, None, list)
    if not found:  # outside of the lock, since reading indices may recurse in another thread
        found.append(BlockAccesses(block))
    return found[0]


def _are_steps(far: int | None, near: int | None, extent: int) -> bool:
    """Whether a step of an outer iterator is as far as all steps of an inner one."""
    return near is not None and far == extent * near


def is_loaded_place(access: StridedAccess, *variables: Var) -> bool:
    """Whether a place depends on iterators by nothing but other elements that are loaded."""
    used = set(chain.from_iterable(map(computed_with, access.indices)))
    return used.isdisjoint(variables)


def computed_with(node: Node) -> Iterator[Var]:
    """The variables of which values depend otherwise than by where elements are."""
    if isinstance(node, Var):
        yield node
    elif isinstance(node, BufferStore):
        yield from computed_with(node.value)
    elif not isinstance(node, BufferLoad):
        for child in node.children():
            yield from computed_with(child)


def access_to(buffer: Buffer, indices: tuple[Expr, ...], variables: list[Var]) -> StridedAccess:
    """The access to an element, in terms of some of the variables that its indices mention."""
    forms = [affine(index) for index in indices]
    steps = _buffer_strides(buffer)
    strides: dict[Var, int | None] = {}
    for var in variables:
        found = [stride_along(form, var) for form in forms]
        if all(item == 0 for item in found):
            continue
        total: int | None = 0
        for item, step in zip(found, steps, strict=True):
            if item == 0:
                continue
            if item is None or step is None:
                total = None
                break
            total = (total or 0) + item * step
        strides[var] = total
    return StridedAccess(buffer, indices, strides)


def reach(index: Expr, counts: Mapping[Var, int]) -> int | None:
    """How many values lie between the ends of an index while some iterators take `counts` values,
    both ends included; None if that is not a constant."""
    form = affine(index)
    steps = {var: stride_along(form, var) for var in counts}
    if None in steps.values():
        return None
    return 1 + sum(abs(step or 0) * (counts[var] - 1) for var, step in steps.items())


def _buffer_strides(buffer: Buffer) -> list[int | None]:
    """Elements from one index of each dimension to the next."""
    if buffer.strides:
        return [const_int_value(stride) for stride in buffer.strides]
    steps: list[int | None] = []
    step: Expr = as_expr(1)
    for extent in reversed(buffer.shape):
        steps.append(const_int_value(step))
        step = multiply(extent, step)
    return steps[::-1]
