"""Oclgrind, a simulator of OpenCL devices that looks for errors in kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def complaints(program: str, *arguments: str, unwritten: bool = True) -> str:
    """What Oclgrind finds wrong with the kernels of a Python program, which runs by itself.

    It looks for races, for indices outside of memory, and for barriers that some threads miss.

    Its OpenCL device is ``tilewright.opencl(0)``. The kernels are named in the text, which is empty
    if they are right.

    Args:
        program: its text.
        arguments: what it finds in ``sys.argv[1:]``.
        unwritten: whether to look for elements that are used and that nothing was written to.
            Copies of such elements that nobody needs are found, too.

    Raises:
        AssertionError: if the program fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "log")
        environment = {
            **os.environ, "OCLGRIND_DATA_RACES": "1", "OCLGRIND_LOG": str(log),
            "TILEWRIGHT_OPENCL_DEVICE": "oclgrind",
        }  # fmt: skip
        if unwritten:
            environment["OCLGRIND_UNINITIALIZED"] = "1"
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        found = log.read_text() if log.exists() else ""
        assert done.returncode == 0, f"{done.stderr[-4000:]}\n{found[:2000]}"
        return found
