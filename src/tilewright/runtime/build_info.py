"""What this build and this machine can do."""

from __future__ import annotations

import importlib.util
from typing import Any

from tilewright.error import ExportError
from tilewright.target import Target
from tilewright.target.kinds import KINDS


def enabled(target: str) -> bool:
    """Whether this build has a backend for `target`.

    Args:
        target: a target such as ``"llvm"`` or ``"cuda -arch=sm_80"``, or the name of a device.
    """
    name = target.kind.name if isinstance(target, Target) else str(target).split(" ")[0]
    kinds = [kind.name for kind in KINDS.values() if name in (kind.name, *kind.keys)]
    return any(_has_backend(kind) for kind in kinds)


def _has_backend(kind: str) -> bool:
    return importlib.util.find_spec(f"tilewright.target.codegen.{kind}") is not None


def system_lib(symbol_prefix: str = "") -> Any:
    """The module of the functions that are linked into the program itself.

    Raises:
        ExportError: always: a Python process has none.
    """
    del symbol_prefix
    raise ExportError(
        "system_lib: no compiled functions are linked into this process; load a library that "
        "Module.export_library wrote with runtime.load_module"
    )
