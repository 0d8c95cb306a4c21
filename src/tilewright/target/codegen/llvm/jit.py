"""Loading object code into this process, and programs of several object files.

Every compiled module is a library in an LLVM ORC JIT. Modules share the thread pool, the workspaces
and what raises errors, which are libraries of their own. A JIT keeps about 10 KB for each library
that it has ever had, so a new one is begun after some libraries, and the old one ends with the last
of its own.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import CodegenError, ExportError
from tilewright.target.codegen.llvm.compile import (
    LOCK,
    CompiledModule,
    binding,
    machine_for,
    optimised,
    parse,
)
from tilewright.target.codegen.llvm.helper_functions import POLL_TEXT, SHARED, has_pool, pool_text
from tilewright.target.codegen.llvm.support import (
    ObjectUnit,
    errors_text,
    launcher_text,
    objects_text,
    support_text,
    workspace_text,
)
from tilewright.target.codegen.params import Param, write_objects
from tilewright.target.target import Target

_numbers: Final = itertools.count()

LIBRARIES_PER_JIT: Final = 64
"""Number of libraries after which another JIT is begun; that takes about a millisecond."""


def load(units: Sequence[ObjectUnit], names: Sequence[str], params: Mapping[str, Param]) -> Library:
    """Load object files, which may refer to each other; gives the addresses of functions.

    Args:
        units: the object files.
        names: symbols of the functions.
        params: constants that they refer to.

    Raises:
        CodegenError: if this process lacks one of them.
    """
    llvm = binding()
    _load_host_library()
    for name in dict.fromkeys(name for unit in units for name in unit.externals):
        if llvm.address_of_symbol(name) is None:
            raise CodegenError(
                f"call_extern: there is no C function {name!r} in this process; load its library "
                "with ctypes.CDLL(path, ctypes.RTLD_GLOBAL) first"
            )
    host = Target("llvm")
    needs = dict.fromkeys(name for unit in units for name in unit.needs)
    support = [support_text(name, host) for name in needs]
    builder = _library_builder([unit.code for unit in units], support)
    for name, param in params.items():
        builder.import_symbol(name, param.address)
    library = _link(builder, names)
    library.params = dict(params)
    return library


def load_object(code: bytes, symbol: str) -> tuple[Library, Callable[[str], Library]]:
    """Load an object file, of which only one symbol is known.

    Args:
        code: the `CompiledModule.shared_object` of a module for this machine.
        symbol: of a function.

    Returns:
        The address of that function, and a function that finds others.

    Raises:
        CodegenError: if it is something else, or calls C functions that this process lacks.
    """
    _load_host_library()
    texts = [errors_text(), launcher_text(), objects_text(), workspace_text()]
    host = Target("llvm")
    if has_pool(host):
        texts += [pool_text(host.architecture), POLL_TEXT]
    # A symbol that the file needs is in its table of strings.
    support = [t for t in texts if any(name.encode() in code for name in _shared_names(t))]
    try:
        loaded = _link(_library_builder([code], support), [symbol])
    except RuntimeError as error:
        raise CodegenError(
            f"the object file cannot be loaded; it may call C functions that this process lacks: "
            f"{error}"
        ) from None
    trackers = [loaded.tracker]  # the end of any of them unloads the library
    loaded.tracker = trackers

    def find(other: str) -> Library:
        trackers.append(_tracked(loaded.jit, loaded.jit.lookup(trackers[0].name, other)))
        library = Library({other: trackers[-1][other]})
        library.tracker = trackers
        return library

    return loaded, find


def _library_builder(codes: Sequence[bytes], support: Sequence[str]) -> Any:
    """LLVM's builder of a library of object files and support modules."""
    builder = binding().JITLibraryBuilder().add_current_process()
    for code in codes:
        builder.add_object_img(code)
    for text in support:
        for symbol, address in support_library(text).items():
            builder.import_symbol(symbol, address)
    return builder


class Library(dict[str, int]):
    """Addresses of functions, which are valid as long as this lives."""

    tracker: Any
    jit: Any
    params: dict[str, Param]
    """Libraries that the code refers to, which live as long."""


def _link(builder: Any, names: Sequence[str]) -> Library:
    for name in names:
        builder.export_symbol(name)
    number = next(_numbers)
    jit = _jit(number // LIBRARIES_PER_JIT)
    tracker = _tracked(jit, builder.link(jit, f"tilewright{number}"))
    library = Library({name: tracker[name] for name in names})
    library.tracker, library.jit = tracker, jit
    return library


def _tracked(jit: Any, tracker: Any) -> Any:
    """A tracker that keeps its JIT: an object ends before what it refers to."""
    tracker.jit = jit
    return tracker


@functools.lru_cache(maxsize=1)
def _jit(generation: int) -> Any:
    """The JIT of some libraries; older ones live as long as their libraries do."""
    del generation
    machine = (
        binding()
        .Target.from_default_triple()
        .create_target_machine(reloc="pic", codemodel="default")
    )
    return binding().create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)


@functools.cache
def support_library(text: str) -> Library:
    """The library that a support module becomes, once for the process."""
    # That of the launcher is optimised already, and long.
    machine = machine_for(Target("llvm"), optimises=text is not launcher_text())
    code = machine.emit_object(optimised(parse(text.replace(SHARED, ""), machine), machine))
    _load_host_library()
    builder = binding().JITLibraryBuilder().add_object_img(code).add_current_process()
    return _link(builder, _shared_names(text))


def _shared_names(text: str) -> list[str]:
    """The functions of a support module that compiled modules call."""
    return re.findall(rf'^define (?:{SHARED}|weak )\w+ @"?([\w.]+)"?\(', text, re.MULTILINE)


@functools.cache
def _load_host_library() -> None:
    """Make the functions of tvm-ffi known to compiled code."""
    from tvm_ffi import libinfo

    binding().load_library_permanently(libinfo.find_libtvm_ffi())


class LinkedModule:
    """A compiled module, and the object files of functions that it calls.

    Attributes:
        main: the module, in which those functions have the attribute ``tir.is_external``.
    """

    def __init__(self, main: CompiledModule, units: Sequence[ObjectUnit]) -> None:
        self.main = main
        self._units = tuple(units)

    @property
    def units(self) -> tuple[ObjectUnit, ...]:
        """All object files, that of the module first."""
        return (self.main.unit, *self._units)

    def function_address(self, symbol: str) -> int:
        """See `CompiledModule.function_address`."""
        return self.main.function_address(symbol, self._units)

    def object_code(self) -> bytes:
        """One object file, if the program has no functions in others."""
        if self._units:
            raise ExportError("the program consists of several object files: see write_objects")
        return self.main.object_code()

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths."""
        units = self.units
        codes = [unit.code for unit in units]
        needs = dict.fromkeys(name for unit in units for name in unit.needs)
        with LOCK:
            codes += [_support_object(name, self.main.target) for name in needs]
        return write_objects(directory, codes, self.main.params)

    def source(self, fmt: str) -> str:
        """The text of the main module, without functions of other object files."""
        return self.main.source(fmt)


def _support_object(name: str, target: Target) -> bytes:
    """A support module as an object file, whose functions are hidden from other libraries.

    A program may be linked from the object files of several libraries, each of which has them.
    """
    machine = machine_for(target)
    text = re.sub(SHARED, "weak_odr hidden ", support_text(name, target))
    return machine.emit_object(optimised(parse(text, machine), machine))
