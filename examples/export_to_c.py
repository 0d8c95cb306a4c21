"""The same function as readable C, and as a library for C programs and for Python.

python examples/export_to_c.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import tilewright as tvm
from tilewright import te


def saxpy() -> tuple[te.Schedule, list[te.Tensor]]:
    """z = 2.5 * x + y for vectors of any length."""
    n = te.size_var("n", "int64")
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    z = te.compute((n,), lambda i: x[i] * 2.5 + y[i], name="z")
    return te.create_schedule(z.op), [x, y, z]


def main(directory: Path) -> None:
    schedule, arguments = saxpy()

    source = tvm.build(schedule, arguments, target="c", name="saxpy").get_source()
    (directory / "saxpy.c").write_text(source)
    print("The loop in C:\n")
    print(definition(source, "saxpy"))

    path = directory / "saxpy.so"
    tvm.build(schedule, arguments, target="llvm", name="saxpy").export_library(path)
    print(f"The library {path.name} has {path.stat().st_size} bytes.")

    loaded = tvm.runtime.load_module(path)
    a, b = np.arange(4, dtype="float32"), np.ones(4, "float32")
    c = np.empty(4, "float32")
    loaded["saxpy"](a, b, c)
    print(f"Loaded again, it computes {c}")


def definition(source: str, name: str) -> str:
    """The function `name` of a C source."""
    begin = source.rindex(f"static int32_t {name}(")
    return source[begin : source.index("\n}\n", begin) + 3]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
