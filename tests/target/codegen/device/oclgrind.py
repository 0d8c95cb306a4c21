"""Oclgrind, a simulator of OpenCL devices that looks for errors in kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKS = {"OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNINITIALIZED": "1"}
"""Indices outside of memory and barriers that some threads miss are looked for in any case."""


def complaints(program: str, *arguments: str) -> str:
    """What Oclgrind finds wrong with the kernels of a Python program, which runs by itself.

    Its OpenCL device is ``tilewright.opencl(0)``. The kernels are named in the text, which is empty
    if they are right.

    Args:
        program: its text.
        arguments: what it finds in ``sys.argv[1:]``.

    Raises:
        AssertionError: if the program fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "log")
        environment = {
            **os.environ, **CHECKS, "OCLGRIND_LOG": str(log),
            "TILEWRIGHT_OPENCL_DEVICE": "oclgrind",
        }  # fmt: skip
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        found = log.read_text() if log.exists() else ""
        assert done.returncode == 0, f"{done.stderr[-4000:]}\n{found[:2000]}"
        return found
