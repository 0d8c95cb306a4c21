"""A module as C source, compiled by the C compiler of this machine."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping

from tilewright.error import ArgumentValueError, CodegenError
from tilewright.ir.expr import Call
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import walk
from tilewright.target.codegen import own_name
from tilewright.target.codegen.c import amx, calls, expressions, structures  # noqa: F401, emitters
from tilewright.target.codegen.c.prelude import HEADERS
from tilewright.target.codegen.c.statements import write_function
from tilewright.target.codegen.c.types import c_name
from tilewright.target.codegen.params import Param, refuse_params, write_objects
from tilewright.target.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.imported_code import imported_code


def generate_c(module: IRModule) -> str:
    """The C source of the functions of `module`, which are in the form that backends take.

    Functions with a ``global_symbol`` are exported under it, the others are internal.

    The source compiles with any C11 compiler (`cc -O2 -shared -fPIC`); with `-fopenmp` parallel
    loops run on several threads.

    Raises:
        CodegenError: for what C cannot express, such as vectors or GPU threads.
    """
    imports = imported_code(module, "c")
    # What the program brings with it is not declared as something from elsewhere.
    named = re.findall(r"\b([A-Za-z_]\w*)\s*\(", "\n".join(imports))
    helpers: dict[str, str] = {f"extern {name}": "" for name in named}
    prototypes, definitions = [], []
    functions = {v: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}
    called = {name for function in functions.values() for name in _called(function)}
    for var, function in functions.items():
        linkage = "static" if var.name_hint in called else "static inline"
        if function.global_symbol is not None:
            weak = bool(function.attrs.get("tir.is_weak", False))
            linkage = "TW_WEAK TW_EXPORT" if weak else "TW_EXPORT"
        name = c_name(function.global_symbol or own_name(var.name_hint))
        prototype, definition = write_function(name, function, linkage, helpers)
        prototypes.append(f"{prototype};")
        definitions.append(definition)
    parts = [HEADERS, *imports, *filter(None, helpers.values()), "\n".join(prototypes) + "\n"]
    return "\n".join([*parts, "\n\n".join(definitions), ""])


def _called(function: PrimFunc) -> set[str]:
    """The names of the functions of the module that `function` calls."""
    found = (node.op for node in walk(function.body) if isinstance(node, Call))
    return {op.name_hint for op in found if isinstance(op, GlobalVar)}


COMPILERS = ("cc", "gcc", "clang")
OPTIONS = ("-std=c11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off")
"""Without contraction, which would change the arithmetic of mathematical functions."""


class CompiledSource:
    """The C source of a module; compiled on demand."""

    def __init__(
        self, module: IRModule, target: Target, params: Mapping[str, Param] | None = None
    ) -> None:
        self._text = generate_c(module)
        self._params = dict(params or {})
        self._target = target

    def source(self, fmt: str) -> str:
        """The C source."""
        if fmt not in ("", "c"):
            raise ArgumentValueError(f'target c has its source as "c" only, not {fmt!r}')
        return self._text

    def function_address(self, symbol: str) -> int:
        """The address of an exported function in this process; 0 if there is none."""
        try:
            function = self._library[symbol]
        except AttributeError:
            return 0
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    def object_code(self) -> bytes:
        """An object file.

        Raises:
            ExportError: if the program has constants outside of the code.
        """
        refuse_params(self._params)
        return self._compile(("-c",))

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths."""
        return write_objects(directory, [self._compile(("-c",))], self._params)

    @functools.cached_property
    def _library(self) -> ctypes.CDLL:
        import tvm_ffi  # its library, which the functions call, is then in this process

        del tvm_ffi
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "module.so")
            if self._params:
                command = [*_compiler(), "-shared", "-o", path, *self.write_objects(directory)]
                _run([*command, "-lm"])
            else:
                with open(path, "wb") as stream:
                    stream.write(self._compile(("-shared",)))
            return ctypes.CDLL(path)

    def _compile(self, mode: tuple[str, ...]) -> bytes:
        options = [f"-O{self._target.attrs.get('opt-level', 3)}"]
        if "mcpu" in self._target.attrs:
            options.append(f"-march={self._target.attrs['mcpu']}")
        with tempfile.TemporaryDirectory() as directory:
            path, output = os.path.join(directory, "module.c"), os.path.join(directory, "out")
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(self._text)
            command = [*_compiler(), *OPTIONS, *options, *mode, path, "-o", output, "-lm"]
            _run(command)
            with open(output, "rb") as stream:
                return stream.read()


def compile_module(
    module: IRModule, target: Target | None = None, params: Mapping[str, Param] | None = None
) -> CompiledSource:
    """The code of `module`, whose functions are legal for this target."""
    return CompiledSource(module, target or Target("c"), params)


def _run(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CodegenError(f"`{' '.join(command)}` failed:\n{result.stderr.strip()}")


def _compiler() -> list[str]:
    """The command of the C compiler: ``$CC``, or the first of `COMPILERS` that exists."""
    named = os.environ.get("CC", "").split()
    if named and shutil.which(named[0]):
        return named
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise CodegenError(
        "target c needs a C compiler to run its code, and there is none: install one or set CC, "
        'or use target="llvm"; module.get_source() works without'
    )
