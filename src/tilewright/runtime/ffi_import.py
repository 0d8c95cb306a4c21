"""The import of tvm-ffi, without the import of torch that it begins with if torch is installed.

That takes a second or more and much memory, in every process that compiles or runs anything.
Tensors of torch are taken all the same: torch itself gives them what tvm-ffi asks for.
"""

from __future__ import annotations

import importlib
import sys


def import_tvm_ffi() -> None:
    """Import tvm-ffi; torch is not imported by it, but stays imported if it is already.

    On Windows torch comes first as tvm-ffi wants it: some versions of both clash otherwise.
    """
    if "tvm_ffi" in sys.modules or "torch" in sys.modules or sys.platform == "win32":
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # its import fails as if it were absent
    try:
        importlib.import_module("tvm_ffi")
    finally:
        del sys.modules["torch"]


import_tvm_ffi()
