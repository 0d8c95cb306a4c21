"""What this process can do: its backends, and the threads of its parallel loops."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import operator
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError, ExportError
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS, KINDS


def enabled(target: str) -> bool:
    """Whether this build has a backend for `target`.

    Args:
        target: a target such as ``"llvm"`` or ``"cuda -arch=sm_80"``, or the name of a device.
    """
    name = target.kind.name if isinstance(target, Target) else str(target).split(" ")[0]
    kinds = [kind.name for kind in KINDS.values() if name in (kind.name, *kind.keys)]
    return any(_has_backend(kind) for kind in kinds)


def _has_backend(kind: str) -> bool:
    if kind in KERNEL_KINDS:
        return True
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


def num_threads() -> int:
    """Maximum number of threads of a parallel loop, unless its target says less.

    It is what `set_num_threads` was given, or else the environment variable
    ``TILEWRIGHT_NUM_THREADS`` (1 to 1024), or else the number of cores that the process may use, by
    its affinity and the limit of its container. The last two are asked once in each process. It is
    1 on machines without a thread pool.
    """
    functions = _pool()
    return functions[0]() if functions else 1


def set_num_threads(count: int | None) -> None:
    """Let parallel loops use at most `count` threads from now on; None undoes it.

    It applies to code compiled in this process, in all of its threads; a library that was
    exported goes by the environment variable. ``-num-cores`` of a target can only lower it.

    Raises:
        ArgumentValueError: for a count that is not between 1 and 1024.
    """
    from tilewright.target.codegen.llvm.helper_functions import MOST_THREADS

    try:
        number = 0 if count is None else operator.index(count)
    except TypeError:
        raise ArgumentError(
            f"set_num_threads: expected an integer or None, got {count!r}"
        ) from None
    if count is not None and not 1 <= number <= MOST_THREADS:
        raise ArgumentValueError(
            f"set_num_threads: the count is between 1 and {MOST_THREADS}, got {number}"
        )
    functions = _pool()
    if functions:
        functions[1](number)


@functools.cache
def _pool() -> tuple[Any, Any] | None:
    """The functions of the pool that tell the number and set it; None without a pool."""
    from tilewright.target.codegen.llvm.compile import LOCK
    from tilewright.target.codegen.llvm.helper_functions import (
        NUM_THREADS,
        SET_NUM_THREADS,
        has_pool,
        pool_text,
    )
    from tilewright.target.codegen.llvm.jit import support_library

    target = Target("llvm")
    if not has_pool(target):
        return None
    with LOCK:
        library = support_library(pool_text(target.architecture))
    get = ctypes.CFUNCTYPE(ctypes.c_int32)(library[NUM_THREADS])
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_int32)(library[SET_NUM_THREADS])
    return get, set_
