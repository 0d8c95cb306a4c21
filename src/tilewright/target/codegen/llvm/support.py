"""The support modules, in LLVM IR, with which compiled modules are linked and which they share.

* errors: the functions that raise errors.
* launcher: kernels and memory of devices. It is made of C, see `tilewright.target.launcher`, and
  other libraries and programs may call its functions.
* objects: arrays, tuples and other values that compiled functions make and keep. An array is one
  block of memory: DLPack's ``DLManagedTensorVersioned``, the shape, the strides, and from the next
  multiple of 64 bytes on the elements. The function that ends its life is ``free`` of the C
  library, so an array may live longer than the code that made it. The host wraps it by
  ``TVMFFITensorFromDLPackVersioned``; without a host there is nobody to give it to.
* polls: what asks Python for interrupts.
* threads: the pool of threads that run parallel loops.
* workspaces: memory from the heap. A block is 64-byte aligned and has a header of 64 bytes that
  holds its size. Up to eight blocks of at most 64 MiB are kept when they are freed, so that a
  function called again and again does not ask the system for pages each time. A slot is taken and
  filled by atomic exchanges: any thread may allocate and free.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tilewright.target import launcher
from tilewright.target.codegen.llvm.functions import write_function
from tilewright.target.codegen.llvm.helper_functions import (
    DECLARATIONS,
    POLL_TEXT,
    RAISE_TEXT,
    SHARED,
    SHARED_TYPES,
    error_function_text,
    pool_text,
)
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.target import Target
from tilewright.tir.call_boundary.shared_functions import shared_functions

_FOLDER: Final = Path(__file__).parent
LAUNCHER: Final = Path(launcher.__file__).with_name("launcher.ll")


@functools.cache
def errors_text() -> str:
    """The module of error functions."""
    # These functions have no vectors and call no intrinsics, so they are alike for all targets.
    module = ModuleText(Target("llvm"), defines_errors=True)
    module.functions += [
        write_function(module, name.name_hint, function)
        for name, function in shared_functions().items()
    ]
    functions = [error_function_text(types, SHARED) for types in SHARED_TYPES]
    return "\n".join([*DECLARATIONS, RAISE_TEXT, *functions, module.text()])


@functools.cache
def objects_text() -> str:
    """The module that makes, releases, copies and keeps values."""
    texts = [(_FOLDER / name).read_text() for name in ("objects.ll", "object_values.ll")]
    own = RAISE_TEXT.replace(SHARED, "internal ")
    return "\n".join([*DECLARATIONS[:2], own, *texts])


@functools.cache
def launcher_text() -> str:
    """The module that starts kernels on devices, and has their memory."""
    return LAUNCHER.read_text()


@functools.cache
def workspace_text() -> str:
    """The module that allocates and frees workspaces."""
    return (_FOLDER / "workspace.ll").read_text()


_TEXTS: Final[dict[str, Callable[[Target], str]]] = {
    "errors": lambda target: errors_text(),
    "launcher": lambda target: launcher_text(),
    "objects": lambda target: objects_text(),
    "polls": lambda target: POLL_TEXT,
    "threads": lambda target: pool_text(target.architecture),
    "workspaces": lambda target: workspace_text(),
}


class ObjectUnit(NamedTuple):
    """An object file without what modules share.

    Attributes:
        code: the object file.
        needs: names of the support modules with which it is linked.
        externals: C functions that it calls.
    """

    code: bytes
    needs: tuple[str, ...]
    externals: tuple[str, ...]


def support_needed(written: ModuleText) -> tuple[str, ...]:
    """The names of the modules that a module is linked with."""
    needs = {
        "errors": written.needs_errors,
        "launcher": written.needs_launcher,
        "objects": written.needs_objects,
        "polls": written.needs_polls,
        "threads": written.needs_thread_pool,
        "workspaces": written.needs_workspaces,
    }
    return tuple(name for name, needed in needs.items() if needed)


def support_text(name: str, target: Target) -> str:
    """A support module in LLVM IR."""
    return _TEXTS[name](target)
