"""The launcher of this process: the functions of ``tilewright_device.h``, and drivers' libraries.

See `tilewright.target.launcher`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import threading
from pathlib import Path
from typing import Any, Final

import tvm_ffi

from tilewright.error import AllocationError, DeviceError, TVMError
from tilewright.runtime.registry import register_func
from tilewright.target.codegen.device.nvrtc import compile_for_device
from tilewright.target.codegen.llvm.compile import LOCK
from tilewright.target.codegen.llvm.jit import support_library
from tilewright.target.codegen.llvm.support import launcher_text

OPENCL: Final = 4
"""DLPack's number of OpenCL devices."""

FIND_FUNCTION: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
"""The type of functions that give the address of a function of a driver; 0 if there is none."""

_INT, _LONG, _POINTER = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
_PROTOTYPES: Final[dict[str, tuple[Any, ...]]] = {
    "devices": (_POINTER,),
    "devices_exchange": (_POINTER, _INT, _POINTER, _POINTER),
    "devices_reason": (ctypes.c_char_p, _INT),
    "device_count": (_INT, _INT),
    "device_require": (_INT, _INT, _INT),
    "device_of": (_INT, _INT, _POINTER, _POINTER),
    "device_array": (_POINTER, _POINTER, _LONG),
    "device_empty_pool": (_INT, _INT, _INT),
    "device_write": (_INT, _INT, _POINTER, _POINTER, _LONG),
    "device_read": (_INT, _INT, _POINTER, _POINTER, _LONG),
    "device_copy": (_INT, _INT, _POINTER, _POINTER, _LONG),
    "device_synchronize": (_INT, _INT, _INT, _POINTER),
    "device_stream": (_INT, _INT, _INT, _POINTER),
    "device_create_stream": (_INT, _INT, _INT, _POINTER),
    "device_destroy_stream": (_INT, _INT, _INT, _POINTER),
    "device_wait": (_INT, _INT, _INT, _POINTER, _POINTER),
    "device_record": (_INT, _INT, _INT, _POINTER),
    "device_elapsed": (_INT, _INT, _INT, _POINTER, _POINTER, _POINTER),
    "device_property": (_INT, _INT, _INT, _INT, _POINTER),
    "constants_release": (None, ctypes.c_char_p),
    "device_name": (_INT, _INT, _INT, _POINTER, _LONG),
}
"""The result and the parameters of the functions, without the ``tilewright_`` of their names."""


class Launcher:
    """The functions by their names, without the ``tilewright_``."""

    def __init__(self) -> None:
        with LOCK:
            addresses = support_library(launcher_text())
        # Arrays that outlive the interpreter are released by code that has to be there then.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(addresses))
        for name, (result, *parameters) in _PROTOTYPES.items():
            prototype = ctypes.CFUNCTYPE(result, *parameters)
            setattr(self, name, prototype(addresses[f"tilewright_{name}"]))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function that returns a status.

        Raises:
            DeviceError: if it fails.
            AllocationError: if there is not enough memory.
        """
        if getattr(self, name)(*arguments):
            raise raised_error()

    def value(self, kind: type[Any], name: str, *arguments: Any) -> Any:
        """What a function that returns a status stores at its last argument."""
        result = kind()
        self.call(name, *arguments, ctypes.byref(result))
        return result.value


@functools.cache
def launcher() -> Launcher:
    """The launcher, whose state all libraries share that this process loads."""
    found = Launcher()
    state = ctypes.c_void_p(found.devices())
    register_func("tilewright.devices", lambda: state, override=True)
    register_func("tilewright.cuda.compile", _compile, override=True)
    library = _opencl_library()
    if library is not None:
        found.devices_exchange(OPENCL, None, ctypes.cast(find_in(library), ctypes.c_void_p))
    return found


def find_in(library: ctypes.CDLL) -> Any:
    """A function that gives the addresses of the functions of a library."""

    def find(name: bytes) -> int | None:
        function = getattr(library, name.decode(), None)
        return ctypes.cast(function, ctypes.c_void_p).value if function is not None else None

    return FIND_FUNCTION(find)


def _opencl_library() -> ctypes.CDLL | None:
    """The library of pyopencl, whose loader finds drivers that are packages; None without."""
    found = importlib.util.find_spec("pyopencl")
    if found is None or found.origin is None:
        return None
    package = Path(found.origin).parent
    os.environ.setdefault("PYOPENCL_HOME", str(package))
    for path in package.glob("_cl.*"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(str(path))
    return None


_images = threading.local()


def _compile(source: str, major: int, minor: int) -> ctypes.c_void_p:
    """The address of kernels in machine code, which the driver loads next."""
    _images.last = ctypes.create_string_buffer(compile_for_device(source, major, minor))
    return ctypes.c_void_p(ctypes.addressof(_images.last))


class _Text(ctypes.Structure):
    """``TVMFFIByteArray``."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))

    def __str__(self) -> str:
        return ctypes.string_at(self.data, self.size).decode(errors="replace")


class _Error(ctypes.Structure):
    """The beginning of an error object of tvm-ffi: a header, and ``TVMFFIErrorCell``."""

    _fields_ = (("header", ctypes.c_uint64 * 3), ("kind", _Text), ("message", _Text))


def raised_error() -> TVMError:
    """The error that a function of the launcher has just reported."""
    handle = ctypes.c_void_p()
    tvm_ffi.LIB.TVMFFIErrorMoveFromRaised(ctypes.byref(handle))
    if not handle.value:
        return DeviceError("a device fails, and does not say why")
    error = _Error.from_address(handle.value)
    kind = AllocationError if str(error.kind) == "MemoryError" else DeviceError
    result = kind(str(error.message))
    tvm_ffi.LIB.TVMFFIObjectDecRef(handle)
    return result
