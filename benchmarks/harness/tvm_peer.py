"""Apache TVM as a peer of every work: the same program, without a schedule."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.harness import cpu, threads
from benchmarks.harness.ours import aligned
from benchmarks.suite.work import Call
from benchmarks.tuner.places import LIBRARY, noted
from tilewright.tir import PrimFunc

NAME: Final = "apache-tvm"
SHARED_NAME: Final = "tvm.default_trace_action"


def installed() -> bool:
    """Whether this Python has it."""
    return importlib.util.find_spec("tvm") is not None


def tvm_peer(function: PrimFunc, *inputs: np.ndarray) -> Call:
    """`function` as Apache TVM compiles it."""
    from tvm_ffi.registry import get_global_func, remove_global_func

    # Both packages give a function of this name to the registry that they share.
    if get_global_func(SHARED_NAME, allow_missing=True) is not None:
        remove_global_func(SHARED_NAME)
    import tvm

    module = tvm.script.from_source(in_its_dialect(function.script(), tvm))
    target = tvm.target.Target(
        {"kind": "llvm", "mcpu": cpu.target().cpu, "num-cores": threads.count()}
    )
    compiled = tvm.compile(module, target=target)
    outputs = outputs_of(function, inputs)
    arrays = [tvm.runtime.from_dlpack(array) for array in (*inputs, *outputs)]
    run = partial(compiled[str(function.attrs["global_symbol"])], *arrays)
    return returning(run, outputs[0])


def library_peer(folder: Path, function: PrimFunc, *inputs: np.ndarray) -> Call:
    """What tuning with Apache TVM left in a folder: a library, which needs its runtime alone."""
    for path in noted(folder)["libraries"]:
        ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    import tvm_ffi

    compiled = tvm_ffi.load_module(str(folder / LIBRARY))
    outputs = outputs_of(function, inputs)
    arrays = [tvm_ffi.from_dlpack(array) for array in (*inputs, *outputs)]
    run = partial(compiled[str(function.attrs["global_symbol"])], *arrays)
    return returning(run, outputs[0])


def outputs_of(function: PrimFunc, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Memory for the results, aligned as its code expects."""
    return [
        aligned(np.zeros([int(n) for n in buffer.shape], str(buffer.dtype)))
        for buffer in list(function.buffer_map.values())[len(inputs) :]
    ]


def returning(run: Callable[[], object], result: np.ndarray) -> Call:
    """`run`, which then gives the result."""

    def call() -> np.ndarray:
        run()
        return result

    return call


def in_its_dialect(text: str, tvm: Any) -> str:
    """The script in the words of the version that is installed.

    Releases from 0.25 on call blocks ``T.sblock``, and want to be told which of their two dialects
    a function is in.
    """
    return in_new_dialect(text) if hasattr(tvm, "s_tir") else text


def in_new_dialect(text: str) -> str:
    """The script in the words of releases from 0.25 on."""
    return text.replace("T.block", "T.sblock").replace("@T.prim_func", "@T.prim_func(s_tir=True)")
