"""From object code to a shared library: `cc`, or the linker of the ``ziglang`` package."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from tilewright.error import ExportError


def link_shared(
    output: str, objects: Sequence[str], options: Sequence[str] = (), cc: str | None = None
) -> None:
    """Link object files of this machine into a shared library.

    Args:
        output: path of the library.
        objects: paths of the object files.
        options: more options for the compiler driver.
        cc: the compiler driver; by default ``$CC``, ``cc``, ``gcc`` or ``clang``, whichever is
            found first, or else lld from the ``ziglang`` package.

    Raises:
        ExportError: if there is no linker, or it fails.
    """
    driver = cc or find_compiler()
    if driver is not None:
        command = [*driver.split(), "-shared", "-fPIC", "-o", output, *objects, *options]
        command += ["-lm", "-lpthread"]
    elif importlib.util.find_spec("ziglang") is not None:
        command = [sys.executable, "-m", "ziglang", "ld.lld", "-shared", "-o", output, *objects]
        command += options
    else:
        raise ExportError(
            "no linker found: install a C compiler, or the package `ziglang` "
            "(pip install tilewright[link]), or export a .o file"
        )
    run(command)


def join_objects(output: str, objects: Sequence[str], cc: str | None = None) -> None:
    """Make one object file of several; a single one is copied.

    Raises:
        ExportError: if there are several and no linker, or it fails.
    """
    if len(objects) == 1:
        shutil.copyfile(objects[0], output)
        return
    driver = cc or find_compiler()
    if driver is not None:
        command = [*driver.split(), "-r", "-nostdlib", "-o", output, *objects]
    elif importlib.util.find_spec("ziglang") is not None:
        command = [sys.executable, "-m", "ziglang", "ld.lld", "-r", "-o", output, *objects]
    else:
        raise ExportError(
            "no linker found to join object files: install a C compiler, or the package `ziglang` "
            "(pip install tilewright[link]), or export a .tar file"
        )
    run(command)


def find_compiler() -> str | None:
    """The C compiler of this machine, or None."""
    named = os.environ.get("CC")
    if named and shutil.which(named.split()[0]):
        return named
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    return None


def run(command: Sequence[str]) -> None:
    """Run a tool, and raise `ExportError` with its output if it fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ExportError(f"cannot run {command[0]}: {error}") from None
    if result.returncode:
        output = (result.stderr or result.stdout).strip()
        raise ExportError(f"`{' '.join(command)}` failed:\n{output}")


def include_directory() -> str:
    """The directory of ``tilewright.h``, for C programs that call exported functions."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
