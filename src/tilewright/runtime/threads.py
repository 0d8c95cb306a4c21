"""How many threads the parallel loops of this process use."""

from __future__ import annotations

import ctypes
import functools
import operator
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.target import Target


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
    from tilewright.target.codegen.llvm.threads import MOST_THREADS

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
    from tilewright.target.codegen.llvm.jit import support_library
    from tilewright.target.codegen.llvm.threads import (
        NUM_THREADS,
        SET_NUM_THREADS,
        has_pool,
        pool_text,
    )

    target = Target("llvm")
    if not has_pool(target):
        return None
    with LOCK:
        library = support_library(pool_text(target.architecture))
    get = ctypes.CFUNCTYPE(ctypes.c_int32)(library[NUM_THREADS])
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_int32)(library[SET_NUM_THREADS])
    return get, set_
