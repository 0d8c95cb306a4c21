"""Modules of compiled functions: call, time, look at and export them."""

from __future__ import annotations

import contextlib
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from tvm_ffi import core

from tilewright.error import ArgumentError, ExportError, UnknownNameError
from tilewright.ir.library import ITEM, SYMBOL_PREFIX, Parameter
from tilewright.runtime.benchmark import BenchmarkResult as BenchmarkResult
from tilewright.runtime.benchmark import TimeEvaluator
from tilewright.runtime.device import CPU, as_device, driver_of
from tilewright.runtime.linking import join_objects, link_shared
from tilewright.runtime.packed_func import PackedFunc, from_address


class CompiledCode(Protocol):
    """What a backend makes of a module."""

    def function_address(self, symbol: str) -> int:
        """The address of a function in this process; 0 if there is none."""
        ...

    def object_code(self) -> bytes:
        """A relocatable object file for the target."""
        ...

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths."""
        ...

    def source(self, fmt: str) -> str:
        """Readable text in the format `fmt`, the usual one for ``""``."""
        ...


class Module:
    """Functions by name.

    ``module["main"]`` is a `PackedFunc`; ``module(a, b)`` calls the entry function: ``main`` if
    there is one, or the only function.

    Attributes:
        code: what the functions were compiled to; None for a module that was loaded from a file.
    """

    entry_name: Final = "__tvm_main__"
    """The name under which the entry function is found as well."""

    def __init__(
        self,
        find: Callable[[str], PackedFunc | None],
        signatures: Mapping[str, tuple[Parameter, ...]],
        code: CompiledCode | None = None,
        path: str | None = None,
    ) -> None:
        """See `compiled_module` and `load_module`, which make modules.

        Args:
            find: gives the function of a name.
            signatures: the names of all functions, and what is known of their parameters.
            code: what can be exported and shown, if there is something.
            path: the file from which the module was loaded.
        """
        self._find = find
        self._signatures = dict(signatures)
        self.code = code
        self._path = path
        self._functions: dict[str, PackedFunc] = {}
        self._entry: PackedFunc | None = None

    # --- functions ----------------------------------------------------------------------------

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """The function `name`.

        Args:
            name: its name; the entry function is also found as ``"__tvm_main__"`` and ``"main"``.
            query_imports: for compatibility; there are no imported modules.

        Raises:
            UnknownNameError: if there is none.
        """
        del query_imports
        if not isinstance(name, str):
            raise ArgumentError(f"the name of a function is a string, got {name!r}")
        if name == self.entry_name or (name == "main" and len(self._signatures) == 1):
            return self.entry_func
        return self._named(name)

    def _named(self, name: str) -> PackedFunc:
        function = self._functions.get(name)
        if function is None:
            function = self._find(name)
            if function is None:
                raise UnknownNameError(
                    f"the module has no function {name!r}; it has {self.function_names()}"
                )
            if name + ITEM in self._signatures:
                function.call_for_item(self._named(name + ITEM))
            self._functions[name] = function
        return function

    def __getitem__(self, name: str) -> PackedFunc:
        return self.get_function(name)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether there is a function `name`."""
        try:
            self.get_function(name, query_imports)
        except UnknownNameError:
            return False
        return True

    def function_names(self) -> list[str]:
        """The names of the functions."""
        return list(self._signatures)

    @property
    def imported_modules(self) -> list[Module]:
        """Modules that this one calls: its kernels on a device; the CPU has none."""
        found = getattr(self.code, "device_code", None)
        if found is None:
            return []
        from tilewright.target.codegen.device.compile import KernelSource

        return [Module(lambda name: None, {}, KernelSource(found))]

    @property
    def entry_func(self) -> PackedFunc:
        """The entry function.

        Raises:
            UnknownNameError: if there are several functions and none is called ``main``.
        """
        if self._entry is None:
            names = self.function_names()
            if "main" not in names and len(names) != 1:
                raise UnknownNameError(
                    f"the module has no function 'main' to call: name one of {names}"
                )
            self._entry = self._named("main" if "main" in names else names[0])
        return self._entry

    def __call__(self, *args: Any) -> Any:
        """Call the entry function."""
        return (self._entry or self.entry_func)(*args)

    def time_evaluator(
        self,
        func_name: str,
        dev: core.Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> TimeEvaluator:
        """Something that times the function when it is called with its arguments.

        The function runs once to warm up, then `repeat` times `number` runs between two readings
        of the clock, in a native loop.

        Args:
            func_name: the name of the function, or ``"__tvm_main__"``.
            dev: the device on which it runs.
            number: runs per repetition.
            repeat: repetitions; each gives one of the `results`.
            min_repeat_ms: raise `number` until a repetition takes this long.
            limit_zero_time_iterations: how often to raise `number` while the clock shows nothing.
            cooldown_interval_ms: pause after every `repeats_to_cooldown` repetitions.
            repeats_to_cooldown: see there.
            cache_flush_bytes: bytes of other memory to write before each repetition.
            f_preproc: a registered function to call with the arguments before each repetition.

        Returns:
            TimeEvaluator: called with the arguments, it returns a `BenchmarkResult` (seconds).

        Raises:
            UnknownNameError: for an unknown function.
            DeviceError: for a device that does not exist.
        """
        place = as_device(dev)
        if place.device_type != CPU:
            driver_of(place, "time_evaluator")
        return TimeEvaluator(
            self.get_function(func_name), number, repeat, min_repeat_ms,
            limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown,
            cache_flush_bytes, f_preproc, place,
        )  # fmt: skip

    # --- text and files -----------------------------------------------------------------------

    def get_source(self, fmt: str = "") -> str:
        """The code as text.

        Args:
            fmt: what the backend offers; for ``llvm``: ``"ll"`` (the default) and ``"asm"``.

        Raises:
            ExportError: if the module was loaded from a file, which holds no text.
            ArgumentValueError: for a format that the backend does not have.
        """
        return self._require_code("get_source").source(fmt)

    def save(self, file_name: str, fmt: str = "") -> None:
        """Write the object code (for ``.o``), or the text in the format `fmt`, to a file."""
        code = self._require_code("save")
        kind = fmt or os.path.splitext(file_name)[1].lstrip(".")
        if kind in ("o", "obj"):
            with tempfile.TemporaryDirectory() as directory:
                join_objects(file_name, code.write_objects(directory))
        else:
            with open(file_name, "w", encoding="utf-8") as stream:
                stream.write(code.source(kind))

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        *,
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        options: Sequence[str] = (),
        cc: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Write the functions to a library.

        The library needs neither Python nor this package: `load_module` and any tvm-ffi host load
        it, and so does a C program (docs/runtime.md).

        Args:
            file_name: ``.so`` (or ``.dylib``, ``.dll``) for a shared library, ``.o`` for the
                object file, ``.tar`` for an archive of object files.
            fcompile: called as ``fcompile(file_name, object_files, **kwargs)`` to link instead of
                the C compiler; it may have an attribute ``object_format``.
            addons: paths of more object files to link.
            workspace_dir: directory for the object files, a temporary one by default.
            options: more options for the linker.
            cc: the compiler driver that links.
            **kwargs: passed to `fcompile`.

        Returns:
            str: the path that was written.

        Raises:
            ExportError: if there is no linker or it fails, or the module cannot be exported.
        """
        output = os.fspath(file_name)
        code = self._require_code("export_library")
        extension = os.path.splitext(output)[1]
        if extension not in (".so", ".dylib", ".dll", ".o", ".obj", ".tar") and fcompile is None:
            raise ExportError(
                f"export_library: {output!r} should end in .so, .o or .tar (or pass `fcompile`)"
            )
        directory = os.path.dirname(output) or "."
        if not os.path.isdir(directory):
            raise ExportError(f"export_library: there is no directory {directory!r}")
        with tempfile.TemporaryDirectory() as temporary:
            workspace = workspace_dir or temporary
            objects = [*code.write_objects(workspace), *map(os.fspath, addons or ())]
            if fcompile is not None:
                fcompile(output, objects, **kwargs)
            else:
                with _replaced(output) as written:
                    _write_library(written, extension, objects, options, cc)
        return output

    def _require_code(self, purpose: str) -> CompiledCode:
        if self.code is None:
            raise ExportError(f"{purpose}: the module was loaded from {self._path}: copy that file")
        return self.code

    def __repr__(self) -> str:
        origin = "" if self._path is None else f" from {self._path}"
        return f"<tilewright.Module {', '.join(self.function_names())}{origin}>"


@contextlib.contextmanager
def _replaced(output: str) -> Iterator[str]:
    """A path to write to, which then takes the place of `output`.

    A process that has loaded the old file goes on with it: a library must not change under it.
    """
    directory, name = os.path.split(output)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=directory or ".") as temporary:
        written = os.path.join(temporary, name)
        yield written
        os.replace(written, output)


def _write_library(
    path: str, extension: str, objects: Sequence[str], options: Sequence[str], cc: str | None
) -> None:
    if extension in (".o", ".obj"):
        join_objects(path, objects, cc)
    elif extension == ".tar":
        with tarfile.open(path, "w") as archive:
            for item in objects:
                archive.add(item, arcname=os.path.basename(item))
    else:
        link_shared(path, objects, options, cc)


def compiled_module(code: CompiledCode, signatures: Mapping[str, tuple[Parameter, ...]]) -> Module:
    """The module of functions that a backend compiled into this process."""

    def find(name: str) -> PackedFunc | None:
        if name not in signatures:
            return None
        address = code.function_address(SYMBOL_PREFIX + name)
        return from_address(address, code, name, signatures[name])

    return Module(find, signatures, code)


def text_of(module: Module, name: str) -> str | None:
    """The text that function `name` of a module returns the address of; None without it."""
    import ctypes

    if not module.implements_function(name):
        return None
    return ctypes.string_at(module[name]().value).decode()


def signatures_from(metadata: Callable[[], Any]) -> dict[str, tuple[Parameter, ...]]:
    """The parameters of functions by name, as `METADATA_FUNCTION` of their library tells them."""
    import ctypes

    functions = json.loads(ctypes.string_at(metadata().value))
    return {name: tuple(Parameter(*p) for p in params) for name, params in functions.items()}
