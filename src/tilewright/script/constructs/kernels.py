"""Kernels that are not part of the program."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr, StringImm
from tilewright.tir.op.calls import call_packed


def call_kernel(kernel: Any, launch_args: Any, *args: object, **kwargs: object) -> Expr:
    """A call of a kernel that a registered function launches.

    It is ``T.call_packed(kernel, *args, *launch_args)``: the function gets the arguments of the
    kernel, then the numbers that say how to launch it.

    Args:
        kernel: the name under which the function is registered, see `tilewright.register_func`.
        launch_args: numbers, and lists of numbers, such as ``[[grid_x, grid_y], block]``.
        args: numbers, strings and buffers for the kernel.
        kwargs: options of a compiler of kernels, of which there is none.

    Raises:
        ArgumentError: for a kernel given as source code or as a Python object.
    """
    name = kernel.value if isinstance(kernel, StringImm) else kernel
    if not isinstance(name, str) or not _is_name(name):
        shown = name.strip().split("\n")[0][:60] if isinstance(name, str) else name
        raise ArgumentError(
            f"T.call_kernel: {shown!r} is no name of a registered function, and no backend "
            "compiles kernels from source code or from Python objects; register a function that "
            "launches the kernel with tilewright.register_func, and give its name"
        )
    if kwargs:
        raise ArgumentError(
            f"T.call_kernel: a kernel that is called by name has no option {next(iter(kwargs))!r}"
        )
    return call_packed(name, *args, *_flattened(launch_args))


def _is_name(text: str) -> bool:
    """Whether `text` may name a function, such as ``"library.add-one"``, unlike source code."""
    return bool(text) and not any(letter.isspace() or letter in "(){};" for letter in text)


def _flattened(launch_args: Any) -> list[Any]:
    if not isinstance(launch_args, (list, tuple)):
        return [launch_args]
    return [value for item in launch_args for value in _flattened(item)]
