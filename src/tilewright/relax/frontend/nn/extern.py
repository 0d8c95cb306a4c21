"""External modules: functions in C and C++ that modules call.

A function takes arrays for its arguments and then arrays for its results. A library exports it as
``__tvm_ffi_<name>``, with the signature of `TilewrightFunction` in ``tilewright.h``; in C++, the
macro ``TVM_FFI_DLL_EXPORT_TYPED_FUNC`` of tvm-ffi does that.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tvm_ffi

from tilewright.error import ArgumentError, ArgumentValueError, ExportError, UnknownNameError
from tilewright.relax.frontend.nn.exporter import add_extern
from tilewright.relax.frontend.nn.op import extern
from tilewright.runtime.linking import find_compiler, include_directory, link_shared, run
from tilewright.runtime.loading import load_module
from tilewright.runtime.module import Module
from tilewright.runtime.registry import register_func

COMPATIBILITY: Final = "-DTVM_DLL_EXPORT_TYPED_FUNC=TVM_FFI_DLL_EXPORT_TYPED_FUNC"
"""Lets C++ sources use the older name of the macro that exports a function."""


class ExternModule:
    """Functions of a library; ``module["add"](x, y)`` calls one with tensors.

    Args:
        symbols: for each function the one that makes tensors like the results of tensors like the
            arguments, such as ``lambda x, y: nn.Tensor.placeholder(x.shape, x.dtype)``.
    """

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]) -> None:
        for name, infer in symbols.items():
            if not callable(infer):
                raise ArgumentError(
                    f"ExternModule: {name!r} needs a function from tensors like its arguments to "
                    f"tensors like its results, got {infer!r}"
                )
        self._symbols = dict(symbols)
        self._module: Module | None = None

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """The function of that name, which takes tensors, numbers and strings.

        Raises:
            UnknownNameError: if there is none.
        """
        infer = self._symbols.get(func_name)
        if infer is None:
            raise UnknownNameError(
                f"the external module has functions {list(self._symbols)}, not {func_name!r}"
            )

        def call(*args: Any) -> Any:
            add_extern(self)
            return extern(func_name, list(args), infer(*args))

        return call

    def load(self) -> Module:
        """The functions, which are registered under their names, for compiled code to find them.

        Raises:
            ExportError: if the library cannot be made or loaded, or lacks a function.
        """
        if self._module is None:
            with tempfile.TemporaryDirectory() as directory:
                library = os.path.join(directory, "library.so")
                link_shared(library, [self.object_file(directory)])
                self._module = load_module(library)
        for name in self._symbols:
            if not self._module.implements_function(name):
                raise ExportError(
                    f"{self!r} has no function {name!r}: export it as __tvm_ffi_{name}"
                )
            register_func(name, self._module[name], override=True)
        return self._module

    def object_file(self, directory: str) -> str:
        """The path of an object file with the functions; a new one is made in `directory`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"nn.{type(self).__name__}({', '.join(self._symbols)})"


class ObjectModule(ExternModule):
    """Functions of an object file.

    Args:
        symbols: see `ExternModule`.
        filepath: the path of the file.
    """

    def __init__(
        self, symbols: Mapping[str, Callable[..., Any]], filepath: str | os.PathLike[str]
    ) -> None:
        super().__init__(symbols)
        self.filepath = os.fspath(filepath)
        if not os.path.isfile(self.filepath):
            raise ExportError(f"ObjectModule: there is no file {self.filepath!r}")

    def object_file(self, directory: str) -> str:
        """The path of the file."""
        return self.filepath


class SourceModule(ExternModule):
    """Functions of a source file in C or C++.

    Args:
        symbols: see `ExternModule`.
        source_code: the source, or the path of a file with it.
        source_format: ``"c"`` or ``"cpp"``.
        compile_options: of the compiler, by default `get_compile_options`.
        compiler: the command; by default the one that is found on this machine.
        output_format: ``"obj"``.
    """

    def __init__(
        self, symbols: Mapping[str, Callable[..., Any]], source_code: str | os.PathLike[str],
        source_format: str, compile_options: Sequence[str] | None = None,
        compiler: str | None = None, output_format: str = "obj",
    ) -> None:  # fmt: skip
        super().__init__(symbols)
        if source_format not in ("c", "cpp") or output_format != "obj":
            raise ArgumentValueError(
                "SourceModule: source_format is 'c' or 'cpp' and output_format is 'obj': programs "
                f"run on the CPU, got {source_format!r} and {output_format!r}"
            )
        is_path = isinstance(source_code, os.PathLike) or "\n" not in source_code
        self.source_code = _read(source_code) if is_path else str(source_code)
        self.source_format = source_format
        self.compile_options = (
            self.get_compile_options(source_format)
            if compile_options is None
            else list(compile_options)
        )
        self.compiler = compiler

    @staticmethod
    def get_includes(tvm_pkg: Sequence[str] | None = None) -> list[Path]:
        """The directories of the headers: ``tilewright.h``, and those of tvm-ffi and DLPack."""
        del tvm_pkg
        found = [include_directory(), *_tvm_ffi_includes()]
        return [Path(directory) for directory in found]

    @staticmethod
    def get_compile_options(
        source_format: str = "cpp", tvm_pkg: Sequence[str] | None = None
    ) -> list[str]:
        """The options that sources are compiled with."""
        includes = [f"-I{directory}" for directory in SourceModule.get_includes(tvm_pkg)]
        language = ["-std=c++17", COMPATIBILITY] if source_format == "cpp" else ["-std=c11"]
        return ["-c", "-O3", "-fPIC", *language, *includes]

    def object_file(self, directory: str) -> str:
        """Compile the source; the path of the object file."""
        source = os.path.join(directory, f"source.{self.source_format}")
        output = os.path.join(directory, "source.o")
        Path(source).write_text(self.source_code, encoding="utf-8")
        compiler = self.compiler or _compiler(self.source_format)
        run([*compiler.split(), *self.compile_options, source, "-o", output])
        return output

    def compile(self, output_path: str | os.PathLike[str]) -> None:
        """Compile the source to the object file `output_path`."""
        with tempfile.TemporaryDirectory() as directory:
            shutil.move(self.object_file(directory), os.fspath(output_path))


def _read(path: Any) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ExportError(f"SourceModule: the source cannot be read: {error}") from None


def _tvm_ffi_includes() -> list[str]:
    found = tvm_ffi.libinfo.include_paths()
    return [str(directory) for directory in found]


def _compiler(source_format: str) -> str:
    """The compiler of this machine for a language."""
    if source_format == "cpp":
        names = (os.environ.get("CXX", ""), "c++", "g++", "clang++")
        found = next((name for name in names if name and shutil.which(name.split()[0])), None)
    else:
        found = find_compiler()
    if found is None:
        raise ExportError("SourceModule: there is no compiler; give compiler=")
    return found
