"""Callable functions: compiled ones, registered ones, and Python callables made into such.

A `PackedFunc` is a tvm-ffi function, so a call costs little more than tvm-ffi's own. What differs
is what happens when something is wrong: errors arrive as classes of `tilewright.error`, an
exception of a Python callback arrives as the very object that was raised, and read-only numpy
arrays are accepted where they are only read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import tvm_ffi
from tvm_ffi import core

from tilewright.error import (
    AllocationError,
    ArgumentError,
    ArgumentValueError,
    BoundsError,
    DeviceError,
    DTypeError,
    ProgramAssertionError,
    TVMError,
    UnknownNameError,
)
from tilewright.ir.dtype import DType
from tilewright.ir.library import Parameter
from tilewright.runtime import torch_tensors
from tilewright.runtime.device import as_device
from tilewright.runtime.dlpack import items_of
from tilewright.runtime.ndarray import NDArray, alias, borrowed
from tilewright.runtime.torch_tensors import prepare_arguments

NATIVE_ERRORS: dict[type[BaseException], type[TVMError]] = {
    RuntimeError: TVMError,
    ValueError: ArgumentValueError,
    TypeError: ArgumentError,
    MemoryError: AllocationError,
    AssertionError: ProgramAssertionError,
    KeyError: UnknownNameError,
    IndexError: BoundsError,
}
"""The class in which an error of compiled code arrives, by the kind that the code names."""


tvm_ffi.error.register_error("DeviceError", DeviceError)


class _Raised(threading.local):
    """The exception of a Python callback on its way through native code, per thread."""

    error: BaseException | None = None


_raised = _Raised()
_PLAIN = frozenset((NDArray, np.ndarray, int, float))
"""Classes of arguments that are not tensors of torch, to be quick."""
_native_call_of = core.Function.__call__.__get__


class PackedFunc(core.Function):
    """A function that takes arrays, numbers, strings, and whatever else tvm-ffi knows.

    An array is an `NDArray`, a numpy array, or any DLPack producer; none of them is copied.

    Attributes:
        name: for messages.
        parameters: of a compiled function; None where nothing is known.
        written: the positions of those that are known to be written.
        only_reads: whether it is known that none is.
        native: the same code as a function of tvm-ffi's own class, whose calls are quicker.
        returns_item: whether `native` returns the only item of the tuple that is returned.
    """

    __slots__ = ("name", "native", "only_reads", "parameters", "returns_item", "written")
    name: str
    native: core.Function | None
    only_reads: bool
    returns_item: bool
    parameters: tuple[Parameter, ...] | None
    written: tuple[int, ...]

    def __call__(self, *args: Any) -> Any:
        """Call the function.

        Raises:
            ArgumentError: for a wrong number or kind of arguments, or a wrong dtype.
            ArgumentValueError: for a wrong shape, layout, alignment or device; for tensors of
                torch with a negative or conjugate bit, and those that require gradients and are
                written.
            AllocationError: if there is no memory for its workspace.
            UnknownNameError: if it calls a function that is not registered.
            ProgramAssertionError: if an assertion of the program fails.
            BoundsError: if the function was built with ``tir.instrument_bound_checkers`` and an
                index is outside of its buffer.
        """
        tensor_class = torch_tensors.tensor_class if self.only_reads else None
        for arg in args:  # what can be told of most of them here, to be quick
            kind = type(arg)
            if arg.is_neg() if kind is tensor_class else kind not in _PLAIN:
                prepare_arguments(self, args)
                break
        try:
            result = (self.native or _native_call_of(self))(*args)
        except BufferError:
            return _call_with_aliases(self, args)
        except Exception as error:
            _raise_translated(error)
        if result is not None and type(result) is not tensor_class:
            result = from_native(result)
        return (result,) if self.returns_item else result

    def call_for_item(self, function: PackedFunc) -> None:
        """Call a function that returns the only item of what this one returns, for Python."""
        self.native, self.returns_item = function.native or function, True

    def __repr__(self) -> str:
        return f"<tilewright.PackedFunc {self.name}>"


def packed_func(
    function: core.Function,
    name: str,
    parameters: tuple[Parameter, ...] | None = None,
    native: core.Function | None = None,
) -> PackedFunc:
    """`function` as a `PackedFunc`; the object `function` itself is empty afterwards.

    Args:
        function: what takes the calls of native code.
        name: for messages.
        parameters: what is known about its parameters.
        native: another object that calls the same code, for the calls of Python.
    """
    result = PackedFunc.__new__(PackedFunc)
    result.__move_handle_from__(function)
    result.name, result.native, result.parameters = name, native, parameters
    result.returns_item = False
    result.written = tuple(n for n, known in enumerate(parameters or ()) if known.is_written)
    result.only_reads = parameters is not None and not result.written
    return result


def from_address(
    address: int, keep_alive: object, name: str, parameters: tuple[Parameter, ...] | None = None
) -> PackedFunc:
    """The native function at `address`, with tvm-ffi's calling convention.

    Args:
        address: of ``int f(void*, const TVMFFIAny*, int32_t, TVMFFIAny*)``.
        keep_alive: the object that owns the code.
        name: for messages.
        parameters: what is known about its parameters.
    """
    function, native = (
        core.Function.__from_extern_c__(address, keep_alive_object=keep_alive) for _ in range(2)
    )
    return packed_func(function, name, parameters, native)


def from_callable(function: Callable[..., Any], name: str) -> PackedFunc:
    """A Python callable as a function that compiled code can call."""
    if isinstance(function, PackedFunc):
        return function

    def callback(*args: Any) -> Any:
        try:
            return function(*map(from_native, args))
        except BaseException as error:
            _raised.error = error
            raise

    return packed_func(core._convert_to_ffi_func(callback), name)


def from_native(value: Any) -> Any:
    """A value that comes out of native code, in this package's own classes."""
    convert = _FROM_NATIVE.get(type(value))
    return value if convert is None else convert(value)


def _tuple_from_native(values: Any) -> tuple[Any, ...]:
    return tuple(map(from_native, items_of(values, NDArray)))


def _function_from_native(function: core.Function) -> PackedFunc:
    return packed_func(function, "<native function>")


_FROM_NATIVE: dict[type, Callable[[Any], Any]] = {
    core.Tensor: borrowed,
    core.Device: as_device,
    core.Function: _function_from_native,
    tvm_ffi.Array: _tuple_from_native,
    core._CLASS_DTYPE: lambda dtype: DType(str(dtype)),  # type: ignore[attr-defined]
}


def _raise_translated(error: Exception) -> NoReturn:
    """Raise `error` of a native call in its documented class."""
    raised, _raised.error = _raised.error, None
    if not hasattr(error, "__tvm_ffi_error__"):
        raise error  # from the conversion of an argument by its own class
    if raised is not None and error.args == (str(raised),):
        raise raised
    documented = NATIVE_ERRORS.get(type(error))
    if documented is None:
        raise error
    raise documented(*error.args) from None


def _call_with_aliases(function: PackedFunc, args: tuple[Any, ...]) -> Any:
    """Call again, with those numpy arrays that refuse to export themselves replaced."""
    exported = tuple(
        _export(function, position, arg) if isinstance(arg, np.ndarray) else arg
        for position, arg in enumerate(args)
    )
    try:
        result = _native_call_of(function)(*exported)
    except BufferError as error:
        raise ArgumentValueError(
            f"{function.name}: an argument cannot be passed: {error}"
        ) from None
    except Exception as error:
        _raise_translated(error)
    return result if result is None else from_native(result)


def _export(function: PackedFunc, position: int, values: np.ndarray) -> NDArray:
    parameters = function.parameters
    known = parameters is not None and position < len(parameters)
    name = f" ({parameters[position].name})" if parameters is not None and known else ""
    place = f"{function.name}: argument {position + 1}{name}"
    if not values.flags.writeable and (
        parameters is None or not known or parameters[position].is_written
    ):
        reason = "is written by this function" if known else "may be written by this function"
        raise ArgumentValueError(
            f"{place}: the numpy array is read-only, and it {reason}; pass a writable copy"
        )
    if not values.dtype.isnative:
        raise ArgumentError(
            f"{place}: the numpy array has the byte order of another machine; pass "
            "values.astype(values.dtype.newbyteorder('='))"
        )
    try:
        return alias(values)
    except DTypeError:
        raise ArgumentError(
            f"{place}: a numpy array of dtype {values.dtype} cannot be passed; convert it first"
        ) from None
