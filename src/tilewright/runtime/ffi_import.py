"""The import of tvm-ffi, without packages that it imports if they are installed.

torch takes a second or more and much memory, in every process that compiles or runs anything.
Tensors of torch are taken all the same: torch itself gives them what tvm-ffi asks for. The bindings
of CUDA, whose streams tvm-ffi takes as arguments, are left out where there is no driver.
"""

from __future__ import annotations

import importlib
import os
import sys


def import_tvm_ffi() -> None:
    """Import tvm-ffi; what is left out is not imported by it, but stays imported if it is already.

    On Windows torch comes first as tvm-ffi wants it: some versions of both clash otherwise.
    """
    if "tvm_ffi" in sys.modules or "torch" in sys.modules or sys.platform == "win32":
        return
    left_out = ["torch"]
    if "cuda.bindings" not in sys.modules and not _has_cuda_driver():
        left_out.append("cuda.bindings")
    for name in left_out:  # an import fails as if the package were absent
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        importlib.import_module("tvm_ffi")
    finally:
        for name in left_out:
            del sys.modules[name]


def _has_cuda_driver() -> bool:
    """Whether there may be one; on Linux its module of the kernel, or that of WSL, says so."""
    modules = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg")
    return sys.platform != "linux" or any(map(os.path.exists, modules))


import_tvm_ffi()
