"""The C compiler of this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.error import ExportError
from tilewright.runtime.linking import find_compiler, link_shared, run


def get_cc() -> str | None:
    """The C compiler: ``$CC``, ``cc``, ``gcc`` or ``clang``, whichever is there, or None."""
    return find_compiler()


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files, or compile C files, into a shared library.

    Args:
        output: the path of the library.
        objects: the path of a file, or paths of several.
        options: more options for the compiler.
        cc: the compiler, by default `get_cc`.

    Raises:
        ExportError: if there is no compiler, or it fails.
    """
    link_shared(output, _paths(objects), options or (), cc)


def create_executable(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> None:
    """Link object files, or compile C files, into a program; see `create_shared`."""
    driver = cc or get_cc()
    if driver is None:
        raise ExportError("create_executable: no C compiler found; pass `cc`, or set $CC")
    run([*driver.split(), "-o", output, *_paths(objects), *(options or ()), "-lm", "-lpthread"])


def cross_compiler(
    compile_func: str | Callable[..., Any], options: Sequence[str] | None = None
) -> Callable[..., None]:
    """A function like `create_shared` that calls a compiler for another machine.

    Args:
        compile_func: the compiler, such as ``"aarch64-linux-gnu-gcc"``, or a function like
            `create_shared`.
        options: its options.
    """

    def compile_for_machine(
        output: str, objects: Sequence[str], options: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        every = [*machine_options, *(options or ())]
        if callable(compile_func):
            compile_func(output, objects, options=every, **kwargs)
        else:
            create_shared(output, objects, every, cc=compile_func, **kwargs)

    machine_options = list(options or ())
    return compile_for_machine


def _paths(objects: str | Sequence[str]) -> list[str]:
    return [objects] if isinstance(objects, str) else list(objects)
