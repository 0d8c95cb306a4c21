"""Blocks that sum products of elements over some of their iterators, such as matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.expr import Add, Cast, Expr, FloatImm, IntImm, Mul, Sub, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.buffer import Buffer, BufferLoad, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, For, Stmt
from tilewright.tir.substitute import variables_of

Term = tuple[Expr, ...]
"""The factors of a product: elements of buffers (perhaps cast) and constants."""


class Einsum(NamedTuple):
    """A block ``target[...] += sum of terms``, or ``=`` if it has no reduction iterator.

    Attributes:
        realize: the block.
        target: the element that an instance writes.
        terms: what it adds to it.
    """

    realize: BlockRealize
    target: BufferLoad
    terms: tuple[Term, ...]

    def elements(self) -> Iterator[BufferLoad]:
        """The elements that an instance reads, and the one that it writes, the latter last."""
        for term in self.terms:
            for factor in term:
                load = element_of(factor)
                if load is not None:
                    yield load
        yield self.target


def element_of(factor: Expr) -> BufferLoad | None:
    """The element that a factor is; None for a constant."""
    while isinstance(factor, Cast):
        factor = factor.value
    return factor if isinstance(factor, BufferLoad) else None


def match_einsum(realize: BlockRealize) -> Einsum:
    """The block as a sum of products.

    Raises:
        ScheduleError: if it is none.
    """
    block = realize.block
    value, target = _update(realize)
    terms = tuple(_terms(realize, value))
    if block.init is not None and any(isinstance(n, BufferLoad) for n in walk(block.init)):
        raise ScheduleError("the init of {0} reads memory", at=[realize])
    found = Einsum(realize, target, terms)
    buffers: dict[Buffer, None] = {load.buffer: None for load in found.elements()}
    if any(load.buffer.data is target.buffer.data for load in list(found.elements())[:-1]):
        raise ScheduleError("{0} reads what it writes", at=[realize])
    if len({buffer.data for buffer in buffers}) < len(buffers):
        raise ScheduleError("{0} uses buffers that share their memory", at=[realize])
    return found


def _update(realize: BlockRealize) -> tuple[Expr, BufferLoad]:
    """What is added to, or stored into, which element."""
    block = realize.block
    if block.alloc_buffers or block.match_buffers:
        raise ScheduleError("{0} declares buffers of its own", at=[realize])
    kinds = {item.iter_type for item in block.iter_vars}
    if not kinds <= {IterType.DATA_PAR, IterType.COMM_REDUCE}:
        raise ScheduleError(
            "{0} has iterators that are neither spatial nor of a reduction", at=[realize]
        )
    if IterType.COMM_REDUCE not in kinds and block.init is None:
        store = block.body
        if isinstance(store, BufferStore) and store.predicate is None:
            return store.value, BufferLoad(store.buffer, store.indices)
        raise ScheduleError("the body of {0} is not one store", at=[realize])
    found = match_reduction(block)
    if (
        found is None
        or block.init is None
        or found.condition is not None
        or len(found.targets) != 1
        or not isinstance(found.combiner.result[0], Add)
    ):
        raise ScheduleError(
            "{0} is not an einsum: a reduction with an init and a body like "
            "`C[...] = C[...] + A[...] * B[...]`",
            at=[realize],
        )
    return found.values[0], found.targets[0]


def _terms(realize: BlockRealize, value: Expr) -> Iterator[Term]:
    if isinstance(value, (Add, Sub)):
        yield from _terms(realize, value.a)
        yield from _terms(realize, value.b)
    else:
        yield tuple(_factors(realize, value))


def _factors(realize: BlockRealize, value: Expr) -> Iterator[Expr]:
    if isinstance(value, Mul):
        yield from _factors(realize, value.a)
        yield from _factors(realize, value.b)
        return
    constant = isinstance(value, IntImm) or (
        isinstance(value, FloatImm) and math.isfinite(value.value)
    )
    if not constant and element_of(value) is None:
        raise ScheduleError(
            f"{{0}} is not an einsum: `{value!r}` is neither an element of a buffer nor a finite "
            "constant",
            at=[realize],
        )
    yield value


def loops_of_einsum(tree: FunctionTree, realize: BlockRealize) -> list[For]:
    """The loops of the scope around the block, which contain nothing else."""
    loops = tree.loops_above(realize)
    inside: Stmt = realize
    for loop in reversed(loops):
        if loop.body is not inside:
            raise ScheduleError("{0} contains more than {1}", at=[loop, realize])
        if not (isinstance(loop.min, IntImm) and loop.min.value == 0):
            raise ScheduleError("{0} does not start at 0", at=[loop])
        inside = loop
        if loop.thread_binding is not None:
            raise ScheduleError("{0} has a thread binding", at=[loop], hint="bind later")
    return loops


def elements_nest(name: str, target: Buffer, element: Callable[[tuple[Var, ...]], Expr]) -> Stmt:
    """Loops over all elements of a buffer around a block that stores them.

    Args:
        name: the name of the block.
        target: the buffer.
        element: from the iterators of the block to the element with these indices.
    """
    loops = {Var(f"i{axis}", extent.dtype): extent for axis, extent in enumerate(target.shape)}
    iterators = tuple(
        IterVar(
            Range.from_min_extent(const(0, extent.dtype), extent),
            Var(f"v{axis}", extent.dtype),
            IterType.DATA_PAR,
        )
        for axis, extent in enumerate(target.shape)
    )
    indices = tuple(item.var for item in iterators)
    store = BufferStore(target, element(indices), indices)
    block = with_accesses(Block(iterators, (), (), name, store, key=BlockKey()))
    return nest(loops, BlockRealize(tuple(loops), TRUE, block))[1]


def require_plain_indices(
    einsum: Einsum, load: BufferLoad, padded: Collection[Var], analyzer: Analyzer
) -> None:
    """Refuse an element whose place depends on padded iterators in another way than by one index
    that is such an iterator, over its whole dimension."""
    domains = {item.var: item.dom for item in einsum.realize.block.iter_vars}
    seen: set[Var] = set()
    for index, extent in zip(load.indices, load.buffer.shape, strict=True):
        mentioned = [var for var in variables_of(index) if var in padded]
        if not mentioned:
            continue
        domain = domains.get(index) if isinstance(index, Var) else None
        if domain is None or index in seen or not analyzer.can_prove_equal(domain.extent, extent):
            raise ScheduleError(
                f"{{0}} uses `{load!r}`, in which `{mentioned[0].name}` is not the index of one "
                "whole dimension, and of no other",
                at=[einsum.realize],
            )
        seen.update(mentioned)


def require_zero_in_padding(einsum: Einsum, padded: set[Var]) -> None:
    """Refuse a sum in which what the padding adds may be something else than 0.

    Args:
        einsum: the block.
        padded: the reduction iterators that are padded.
    """
    for term in einsum.terms:
        loads = [load for load in map(element_of, term) if load is not None]
        missing = [padded - set(load.indices) for load in loads]
        lacking = min(missing, key=len, default=padded)
        if lacking:
            var = next(iter(lacking))
            raise ScheduleError(
                f"a term of {{0}} does not depend on `{var.name}` by an element that is 0 in the "
                "padding",
                at=[einsum.realize],
                counterexample=f"{_in_padding(einsum, var)}, the term is not 0",
            )
        for load, others in zip(loads, missing, strict=True):
            if others and load.dtype.is_float:
                var = next(iter(others))
                raise ScheduleError(
                    f"`{load!r}` in {{0}} does not depend on `{var.name}`",
                    at=[einsum.realize],
                    counterexample=f"{_in_padding(einsum, var)}, it adds 0 * inf where it is "
                    "infinite, which is nan",
                )


def _in_padding(einsum: Einsum, var: Var) -> str:
    """The first value of an iterator that padding adds."""
    (domain,) = (v.dom for v in einsum.realize.block.iter_vars if v.var is var)
    assert domain is not None
    return f"at {var.name} = {domain.min + domain.extent}, which the padding adds"


def require_whole_domain(einsum: Einsum, loops: dict[Var, Expr]) -> None:
    """Refuse a block of which an iterator is not bound to a loop of its own over its domain.

    Args:
        einsum: the block.
        loops: the extents of the loops from 0 around the block.
    """
    realize = einsum.realize
    if not is_const_int(realize.predicate, 1):
        raise ScheduleError("{0} has a predicate", at=[realize])
    seen: set[Var] = set()
    analyzer = Analyzer()
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        extent = loops.get(value) if isinstance(value, Var) else None
        if (
            extent is None
            or value in seen
            or item.dom is None
            or not is_const_int(item.dom.min, 0)
            or not analyzer.can_prove_equal(extent, item.dom.extent)
        ):
            raise ScheduleError(
                f"`{item.var.name}` of {{0}} is not bound to a loop of its own over its domain",
                at=[realize],
                hint="do it before the loops are split or fused",
            )
        seen.update(variables_of(value))
