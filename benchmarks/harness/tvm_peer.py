"""Apache TVM as a peer of every work: the same program, without a schedule."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any, Final

import numpy as np

from benchmarks.harness import threads
from benchmarks.harness.ours import aligned
from benchmarks.suite.work import Call
from tilewright.target import Target
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
        {"kind": "llvm", "mcpu": Target("llvm").cpu, "num-cores": threads.count()}
    )
    compiled = tvm.compile(module, target=target)
    outputs = [
        aligned(np.zeros([int(n) for n in buffer.shape], str(buffer.dtype)))
        for buffer in list(function.buffer_map.values())[len(inputs) :]
    ]
    arrays = [tvm.runtime.from_dlpack(array) for array in (*inputs, *outputs)]
    run = partial(compiled[str(function.attrs["global_symbol"])], *arrays)

    def call() -> np.ndarray:
        run()
        return outputs[0]

    return call


def in_its_dialect(text: str, tvm: Any) -> str:
    """The script in the words of the version that is installed.

    Releases from 0.25 on call blocks ``T.sblock``, and want to be told which of their two dialects
    a function is in.
    """
    if not hasattr(tvm, "s_tir"):
        return text
    return text.replace("T.block", "T.sblock").replace("@T.prim_func", "@T.prim_func(s_tir=True)")
