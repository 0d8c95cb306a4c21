"""What kind of computation a block is, decided from the block alone and without isl."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.arith import IterSplit, IterSum, detect_iter_map
from tilewright.arith.iter_form import is_one
from tilewright.arith.linear import mentions
from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, IntImm, Let, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.expressions import identical, same_element, same_extent
from tilewright.tir.buffer import BufferLoad, Range
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    Block,
    BlockRealize,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    For,
    LetStmt,
    While,
)


class BlockKind(enum.Enum):
    """Which orders of a block's instances are right as far as the block itself is concerned."""

    COMPLETE = "complete"
    """Each instance writes elements of its own, from other buffers."""
    REDUCTION = "reduction"
    """Instances that differ in spatial iterators write elements of their own; those that differ in
    reduction iterators alone update the same elements, after `init` has run."""
    OTHER = "other"
    """Nothing is known."""


class Classified(NamedTuple):
    """The kind of a block, and why it is not a complete or reduction block."""

    kind: BlockKind
    reason: str = ""


_KINDS: Final[LRUCache[Classified]] = LRUCache(4096)


def block_kind(block: Block) -> BlockKind:
    """The kind of `block`; it is remembered for the same object."""
    return classify_block(block).kind


def classify_block(block: Block) -> Classified:
    """The kind of `block`, with the reason if it is neither complete nor a reduction."""
    return _KINDS.get(block, None, lambda: _classified(block))


def _classified(block: Block) -> Classified:
    try:
        _Examination(block).run()
    except _OtherError as other:
        return Classified(BlockKind.OTHER, str(other))
    return Classified(BlockKind.COMPLETE if block.init is None else BlockKind.REDUCTION)


class _OtherError(Exception):
    """Carries the reason why a block is of no known kind."""


_UNSUPPORTED: Final = (Allocate, AllocateConst, BlockRealize, BufferRealize, DeclBuffer, While)


class _Examination:
    """The checks of one block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.loops: dict[Var, Range] = {}
        self.lets: set[Var] = set()
        self.stores: list[BufferStore] = []
        self.loads: list[BufferLoad] = []

    def run(self) -> None:
        """Raise unless the block is complete or a reduction."""
        self._check_iterators()
        self._collect()
        private = {buffer.data for buffer in self.block.alloc_buffers}
        written: dict[Var, BufferStore] = {}
        for store in self.stores:
            if store.buffer.data in private:
                continue
            first = written.setdefault(store.buffer.data, store)
            if first is store:
                self._check_injective(store)
            elif not same_element(first, store):
                raise _OtherError(f"it writes {store.buffer.name} at several places")
        for load in self.loads:
            store = written.get(load.buffer.data)
            if store is not None and not self._is_update(load, store):
                raise _OtherError(f"it reads {load.buffer.name}, which it writes")

    def _check_iterators(self) -> None:
        allowed = [IterType.DATA_PAR]
        if self.block.init is not None:
            allowed.append(IterType.COMM_REDUCE)
        for item in self.block.iter_vars:
            if item.iter_type not in allowed:
                what = "a reduction without `init`"
                if item.iter_type is not IterType.COMM_REDUCE:
                    what = "neither spatial nor a reduction"
                raise _OtherError(f"its iterator {item.var.name} is {what}")
            if item.dom is None:
                raise _OtherError(f"its iterator {item.var.name} has no domain")
        if self.block.match_buffers:
            raise _OtherError("it has views of buffers")

    def _collect(self) -> None:
        parts = (self.block.body, self.block.init)
        for node in (node for part in parts if part is not None for node in walk(part)):
            if isinstance(node, For):
                self.loops[node.loop_var] = Range.from_min_extent(node.min, node.extent)
            elif isinstance(node, BufferStore):
                self.stores.append(node)
            elif isinstance(node, BufferLoad):
                self.loads.append(node)
            elif isinstance(node, (LetStmt, Let)):
                self.lets.add(node.var)
            elif isinstance(node, Var) and node.dtype.is_handle:
                raise _OtherError(f"it uses the pointer {node.name}")
            elif isinstance(node, _UNSUPPORTED):
                raise _OtherError(f"it contains a {type(node).__name__}")

    def _check_injective(self, store: BufferStore) -> None:
        """Two instances may write one element only if they differ in reduction iterators alone."""
        name = store.buffer.name
        used = {var for index in store.indices for var in _variables(index)}
        if not used.isdisjoint(self.lets):
            raise _OtherError(f"what it writes of {name} depends on a variable of its own")
        domains: dict[Var, Range] = {}
        for item in self.block.iter_vars:
            assert item.dom is not None
            if item.iter_type is not IterType.COMM_REDUCE:
                domains[item.var] = item.dom
            elif item.var in used:
                raise _OtherError(f"the reduction iterator {item.var.name} is an index of {name}")
        inner = {var: bounds for var, bounds in self.loops.items() if var in used}
        for bounds in inner.values():
            if mentions(bounds.extent, domains) or mentions(bounds.min, domains):
                raise _OtherError(f"how much it writes of {name} differs between instances")
        found = detect_iter_map(_with_digits_joined(store.indices), {**domains, **inner})
        if not found.is_affine:
            why = found.errors[0]
            raise _OtherError(f"instances may write the same element of {name}: {why}")
        digits = [split for total in found.indices for split in total.args]
        for var, domain in domains.items():
            if not _is_told(var, domain, digits):
                raise _OtherError(
                    f"instances that differ in {var.name} may write the same element of {name}"
                )

    def _is_update(self, load: BufferLoad, store: BufferStore) -> bool:
        return self.block.init is not None and same_element(load, store)


def _with_digits_joined(indices: Sequence[Expr]) -> list[Expr]:
    """Indices that tell the same: ``x`` for ``x // c`` and ``x % c``, whatever values `x` has."""
    left = list(indices)
    for high in indices:
        for low in indices:
            if (
                isinstance(high, FloorDiv)
                and isinstance(low, FloorMod)
                and isinstance(high.b, IntImm)
                and is_const_int(low.b, high.b.value)
                and high.b.value > 0
                and identical(high.a, low.a)
            ):
                left = [high.a if item is high else item for item in left if item is not low]
    return left


def _is_told(var: Var, domain: Range, digits: Sequence[IterSplit]) -> bool:
    """Whether indices made of these digits tell the value of an iterator.

    Digits of several iterators as one are told apart only where none is cut off.
    """
    if isinstance(domain.extent, IntImm) and domain.extent.value == 1:
        return True
    own: list[IterSplit] = []
    for split in digits:
        source = split.source.source
        if isinstance(source, IterSum):
            whole = is_one(split.lower_factor) and same_extent(split.extent, split.source.extent)
            if whole and _is_told(var, domain, source.args):
                return True
        elif source is var:
            own.append(split)
    if len(own) == 1:
        return is_one(own[0].lower_factor) and same_extent(own[0].extent, domain.extent)
    reached = 1
    while own:
        lowest = next(
            (
                split
                for split in own
                if split.lower_factor.__class__ is int and split.lower_factor == reached
            ),
            None,
        )
        if lowest is None or not isinstance(lowest.extent, int):
            return False
        own = [split for split in own if split is not lowest]
        reached *= lowest.extent
    return isinstance(domain.extent, IntImm) and domain.extent.value == reached


def _variables(expr: object) -> set[Var]:
    return {node for node in walk(expr) if isinstance(node, Var)}  # type: ignore[arg-type]
