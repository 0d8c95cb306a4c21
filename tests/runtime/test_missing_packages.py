"""Devices whose packages are not installed."""

import os
import subprocess
import sys

PROGRAM = """
import importlib.util, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyopencl", "cuda", "nvidia"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "pyopencl" else found(name, *rest)
sys.meta_path.insert(0, Missing())

import tilewright as tvm
from tilewright import te

a = te.placeholder((64,), name="A")
b = te.compute((64,), lambda i: a[i] + 1, name="B")
kernels = tvm.build(te.create_prim_func([a, b]), "cuda").imported_modules[0]
for attempt in (
    lambda: tvm.nd.empty((3,), "float32", tvm.opencl(0)),
    lambda: kernels.get_source("ptx"),
):
    try:
        attempt()
    except tvm.TVMError as error:
        print(error)
"""


def test_errors_name_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
        env={**os.environ, "TILEWRIGHT_OPENCL_LIBRARY": "absent.so"},
    )  # fmt: skip
    assert done.stderr == ""
    opencl, nvrtc = done.stdout.splitlines()
    assert opencl == (
        "nd.empty: device opencl(0) cannot be used: absent.so is not here: install a driver; "
        "`pip install tilewright[opencl]` brings a driver for CPUs; or use cpu(0)"
    )
    assert "needs the packages cuda-bindings and nvidia-cuda-nvrtc" in nvrtc
    assert "tilewright[cuda]" in nvrtc
