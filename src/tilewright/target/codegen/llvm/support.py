"""What compiled modules are linked with: modules of LLVM IR that several of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.objects import objects_text
from tilewright.target.codegen.llvm.shared_errors import errors_text
from tilewright.target.codegen.llvm.threads import pool_text
from tilewright.target.codegen.llvm.workspace import workspace_text
from tilewright.target.target import Target

_TEXTS: Final[dict[str, Callable[[Target], str]]] = {
    "errors": lambda target: errors_text(),
    "objects": lambda target: objects_text(),
    "threads": lambda target: pool_text(target.architecture),
    "workspaces": lambda target: workspace_text(),
}


class ObjectUnit(NamedTuple):
    """An object file without what modules share.

    Attributes:
        code: the object file.
        needs: names of the support modules with which it is linked.
        externals: C functions that it calls.
    """

    code: bytes
    needs: tuple[str, ...]
    externals: tuple[str, ...]


def support_needed(written: ModuleText) -> tuple[str, ...]:
    """The names of the modules that a module is linked with."""
    needs = {
        "errors": written.needs_errors,
        "objects": written.needs_objects,
        "threads": written.needs_thread_pool,
        "workspaces": written.needs_workspaces,
    }
    return tuple(name for name, needed in needs.items() if needed)


def support_text(name: str, target: Target) -> str:
    """A support module in LLVM IR."""
    return _TEXTS[name](target)
