"""What this build and this machine can do."""

from __future__ import annotations

import importlib.util
import os
import re
from typing import Any

from tilewright.error import ExportError
from tilewright.target import Target
from tilewright.target.cpu import core_count
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


def num_threads() -> int:
    """How many threads a parallel loop uses at the most, unless its target says less.

    It is the number of cores that the process may use, or what ``TILEWRIGHT_NUM_THREADS`` said
    (1 to 1024) when the first parallel loop ran.
    """
    chosen = re.match(r"\s*\+?(\d+)", os.environ.get("TILEWRIGHT_NUM_THREADS", ""))
    if chosen is not None and 1 <= int(chosen[1]) <= 1024:
        return int(chosen[1])
    return core_count()


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
