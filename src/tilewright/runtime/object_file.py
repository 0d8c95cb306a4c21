"""Functions in object files, handed from one process of this package to another.

An object file that LLVM's own linker loads costs a third of a library that a system linker makes,
and functions from different files share the threads and workspaces of the process.
"""

from __future__ import annotations

from pathlib import Path

from tilewright.error import ExportError
from tilewright.ir.library import METADATA_FUNCTION, SYMBOL_PREFIX
from tilewright.runtime.module import Module, signatures_from
from tilewright.runtime.packed_func import PackedFunc, from_address
from tilewright.target.codegen.llvm.compile import LOCK, CompiledModule


def save_object(module: Module, path: str | Path) -> None:
    """Write the functions of a module for `load_object`.

    Raises:
        ExportError: for a module that was not compiled by LLVM in this process.
    """
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
