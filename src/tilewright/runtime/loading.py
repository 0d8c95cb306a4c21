"""Modules from files: those of `Module.export_library`, and object files of another process."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import tvm_ffi

from tilewright.error import ExportError
from tilewright.ir.library import METADATA_FUNCTION, SYMBOL_PREFIX, Parameter
from tilewright.runtime.linking import link_shared
from tilewright.runtime.module import Module, signatures_from
from tilewright.runtime.packed_func import PackedFunc, from_address, packed_func

_LOADED: Final[dict[str, tuple[int, ...]]] = {}
"""What was in the files when they were loaded first, by path."""


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """The module in a file that `Module.export_library` (or another tvm-ffi compiler) wrote.

    Args:
        path: a shared library; an object file or an archive of them is linked first.
        fmt: the format, by default the extension of the file.

    Raises:
        ExportError: if the file does not exist or is not a library.
    """
    file = os.path.abspath(os.fspath(path))
    if not os.path.isfile(file):
        raise ExportError(f"load_module: there is no file {file!r}")
    kind = fmt or os.path.splitext(file)[1].lstrip(".")
    if kind in ("o", "obj", "tar"):
        with tempfile.TemporaryDirectory() as directory:
            library = os.path.join(directory, "library.so")
            link_shared(library, _objects_of(file, kind, directory))
            return _load_library(library, file)
    if _LOADED.setdefault(file, _identity(file)) == _identity(file):
        return _load_library(file, file)
    # The system's loader knows libraries by their paths: it would give the old one again.
    with tempfile.TemporaryDirectory() as directory:
        return _load_library(shutil.copy(file, directory), file)


def _identity(file: str) -> tuple[int, ...]:
    status = os.stat(file)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _objects_of(file: str, kind: str, directory: str) -> list[str]:
    if kind != "tar":
        return [file]
    try:
        with tarfile.open(file) as archive:
            members = [m for m in archive.getmembers() if m.isfile() and m.name.endswith(".o")]
            paths = []
            for number, member in enumerate(members):
                stream = archive.extractfile(member)
                paths.append(os.path.join(directory, f"lib{number}.o"))
                with open(paths[-1], "wb") as target:
                    target.write(stream.read() if stream is not None else b"")
            return paths
    except tarfile.TarError as error:
        raise ExportError(f"load_module: {file!r} is not an archive: {error}") from None


def _load_library(library: str, file: str) -> Module:
    try:
        loaded = tvm_ffi.load_module(library)
    except Exception as error:
        raise ExportError(f"load_module: {file!r} cannot be loaded: {error}") from None
    signatures = _read_metadata(loaded)

    def find(name: str) -> PackedFunc | None:
        if not loaded.implements_function(name):
            return None
        function, native = loaded.get_function(name), loaded.get_function(name)
        return packed_func(
            function, name, signatures.get(name), native if native is not function else None
        )

    return Module(find, signatures, path=file)


def _read_metadata(loaded: tvm_ffi.Module) -> dict[str, tuple[Parameter, ...]]:
    """What a library of this package says about its functions; nothing for those of others."""
    if not loaded.implements_function(METADATA_FUNCTION):
        return {}
    return signatures_from(loaded.get_function(METADATA_FUNCTION))


def save_object(module: Module, path: str | Path) -> None:
    """Write the functions of a module for `load_object`, in another process of this package.

    An object file that LLVM's own linker loads costs a third of a library that a system linker
    makes, and functions from different files share the threads and workspaces of the process.

    Raises:
        ExportError: for a module that was not compiled by LLVM in this process.
    """
    from tilewright.target.codegen.llvm.compile import CompiledModule

    code = module.code
    if not isinstance(code, CompiledModule):
        raise ExportError(f"save_object: {module!r} was not compiled by the target llvm here")
    Path(path).write_bytes(code.shared_object)


def load_object(path: str | Path) -> Module:
    """The module that `save_object` wrote, loaded without a system linker.

    Raises:
        ExportError: if there is no such file.
        CodegenError: if it holds something else, or calls C functions that this process lacks.
    """
    from tilewright.target.codegen.llvm.compile import LOCK
    from tilewright.target.codegen.llvm.jit import load_object as load

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ExportError(f"load_object: {path}: {error.strerror}") from None
    symbol = SYMBOL_PREFIX + METADATA_FUNCTION
    with LOCK:
        library, find_symbol = load(content, symbol)
    signatures = signatures_from(from_address(library[symbol], library, METADATA_FUNCTION))

    def find(name: str) -> PackedFunc | None:
        if name not in signatures:
            return None
        with LOCK:
            library = find_symbol(SYMBOL_PREFIX + name)
        return from_address(library[SYMBOL_PREFIX + name], library, name, signatures[name])

    return Module(find, signatures, path=str(path))
