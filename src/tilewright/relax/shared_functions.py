"""Finding a tensor program of a module that equals a new one."""

from __future__ import annotations

from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.structural import structural_equal, structural_hash
from tilewright.tir.function import PrimFunc


class SharedFunctions:
    """The tensor programs of a module that are not exported, by structural hash.

    Args:
        module: the module; functions that it has now are hashed when they are first needed.
    """

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._waiting = list(module.functions)
        self._by_hash: dict[int, list[GlobalVar]] = {}

    def add(self, name: GlobalVar, function: BaseFunc) -> None:
        """Make known that the module has a function."""
        if _is_shareable(function):
            self._waiting.append(name)

    def find(self, function: BaseFunc) -> GlobalVar | None:
        """The name of a tensor program that equals `function`."""
        if not _is_shareable(function):
            return None
        for name in self._waiting:
            known = self._module.functions.get(name)
            if known is not None and _is_shareable(known):
                self._by_hash.setdefault(structural_hash(known), []).append(name)
        self._waiting.clear()
        for name in self._by_hash.get(structural_hash(function), ()):
            # A function may have been replaced since.
            known = self._module.functions.get(name)
            if known is not None and structural_equal(known, function):
                return name
        return None


def _is_shareable(function: BaseFunc) -> bool:
    return isinstance(function, PrimFunc) and function.global_symbol is None
