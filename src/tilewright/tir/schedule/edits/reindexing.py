"""Replacing block iterators by expressions, with indices as a person would write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import BufferLoad, Range
from tilewright.tir.stmt import BufferStore
from tilewright.tir.substitute import Substitution


def reindexed(root: Any, variables: Mapping[Var, Expr], analyzer: Analyzer) -> Any:
    """`root` with variables replaced, and indices that change simplified."""
    return _Reindexing(variables, analyzer)(root)


class _Reindexing(Substitution):
    def __init__(self, variables: Mapping[Var, Expr], analyzer: Analyzer) -> None:
        super().__init__(variables)
        self._simplify = analyzer.simplify

    def _indexed(self, access: Any, changed: Any) -> Any:
        if changed is access:
            return access
        pairs = zip(changed.indices, access.indices, strict=True)
        return changed.replace(indices=tuple(n if n is o else self._simplify(n) for n, o in pairs))

    def BufferLoad(self, load: BufferLoad) -> Any:
        return self._indexed(load, self._use(load))

    def BufferStore(self, store: BufferStore) -> Any:
        return self._indexed(store, self._use(store))

    def Range(self, item: Range) -> Any:
        changed = item.map_children(self)
        if changed is item:
            return item
        return Range.from_min_extent(self._simplify(changed.min), self._simplify(changed.extent))
