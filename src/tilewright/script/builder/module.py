"""The module whose class body is being read."""

from __future__ import annotations

from typing import Any

from tilewright.ir.scope_stack import ScopeStack


class ModuleUnderConstruction:
    """Attributes and global infos of a module that is being read.

    Attributes:
        attrs: its attributes.
        global_infos: its global infos.
        is_open: whether they may be set: not any more when its functions are read.
    """

    def __init__(self) -> None:
        self.is_open = True
        self.attrs: dict[str, Any] = {}
        self.global_infos: dict[str, tuple[Any, ...]] = {}

    def __enter__(self) -> ModuleUnderConstruction:
        _modules.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _modules.leave()


_modules: ScopeStack[ModuleUnderConstruction] = ScopeStack()


def is_reading_module() -> bool:
    """Whether this thread reads a module."""
    return _modules.innermost() is not None


def current_module() -> ModuleUnderConstruction:
    """The innermost module that this thread reads; one that is thrown away if there is none.

    Python itself runs the body of a decorated class before the decorator reads it.
    """
    return _modules.innermost() or ModuleUnderConstruction()
