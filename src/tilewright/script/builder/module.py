"""The module whose class body is being read."""

from __future__ import annotations

import threading
from typing import Any


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
        _THREAD.modules.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _THREAD.modules.pop()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.modules: list[ModuleUnderConstruction] = []


_THREAD = _Thread()


def is_reading_module() -> bool:
    """Whether this thread reads a module."""
    return bool(_THREAD.modules)


def current_module() -> ModuleUnderConstruction:
    """The innermost module that this thread reads; one that is thrown away if there is none.

    Python itself runs the body of a decorated class before the decorator reads it.
    """
    return _THREAD.modules[-1] if _THREAD.modules else ModuleUnderConstruction()
