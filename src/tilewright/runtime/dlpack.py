"""The C structures of DLPack and tvm-ffi that Python code touches itself.

Nearly everything goes through tvm-ffi's own Python interface. Only views with another dtype, shape
or offset are made here, through its stable C interface; dtypes that numpy cannot export through
DLPack (bfloat16, float8) need them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any, Final

import tvm_ffi
from tvm_ffi import core

from tilewright.error import DTypeError, InternalError
from tilewright.ir.dtype import DType

_CODES: Final = {
    "int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6,
    "e4m3_float8": 10, "e5m2_float8": 12,
}  # fmt: skip
_ELEMENTS: Final = {
    (4, 16): "bfloat16", (6, 8): "bool", (10, 8): "e4m3_float8", (12, 8): "e5m2_float8",
    **{(0, bits): f"int{bits}" for bits in (4, 8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (4, 8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (1, 1): "bool", (3, 64): "handle",
}  # fmt: skip


def dtype_code(dtype: DType) -> tuple[int, int, int]:
    """DLPack's (code, bits, lanes) of `dtype`; a bool takes 8 bits."""
    element = dtype.element
    code = _CODES.get(str(element))
    if code is None:
        code = _CODES[dtype.code]
    return code, 8 if dtype.is_bool else dtype.bits, dtype.lanes


def dtype_from_code(code: int, bits: int, lanes: int) -> DType:
    """The dtype that DLPack calls (code, bits, lanes).

    Raises:
        DTypeError: for a type that this package does not have, such as complex numbers.
    """
    element = _ELEMENTS.get((code, bits))
    if element is None:
        raise DTypeError(f"no dtype for DLPack type code {code} with {bits} bits, {lanes} lanes")
    return DType(element).with_lanes(lanes)


class DLDevice(ctypes.Structure):
    """``DLDevice`` of dlpack.h."""

    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class DLDataType(ctypes.Structure):
    """``DLDataType`` of dlpack.h."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """``DLTensor`` of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

_CLASS_LOCK = threading.Lock()
_length_of = tvm_ffi.get_global_func("ffi.ArraySize")
_item_of = tvm_ffi.get_global_func("ffi.ArrayGetItem")
"""What the methods of `tvm_ffi.Array` call, which take as long again."""


def import_tensor(source: Any, cls: type[core.Tensor]) -> Any:
    """The array that `source` (a DLPack producer or capsule) exports, as an instance of `cls`.

    tvm-ffi makes tensors of one class for the whole process. It is set to ours while ours is made,
    so that other users of tvm-ffi in the process keep what they expect.
    """
    with _CLASS_LOCK:
        previous = core._CLASS_TENSOR
        core._set_class_tensor(cls)
        try:
            return core.from_dlpack(source)
        finally:
            core._set_class_tensor(previous)


def items_of(values: Any, cls: type[core.Tensor]) -> list[Any]:
    """The items of an array of tvm-ffi, with tensors as instances of `cls`."""
    with _CLASS_LOCK:
        previous = core._CLASS_TENSOR
        core._set_class_tensor(cls)
        try:
            return [_item_of(values, position) for position in range(_length_of(values))]
        finally:
            core._set_class_tensor(previous)


def view_of(
    source: core.Tensor,
    cls: type[core.Tensor],
    dtype: DType,
    shape: Sequence[int],
    strides: Sequence[int],
    data: int,
    device: core.Device | None = None,
) -> Any:
    """An array over the memory of `source` with other metadata; it keeps `source` alive.

    Args:
        source: an array that owns its memory.
        cls: the class of the result.
        dtype: type of one element.
        shape: extents.
        strides: elements between neighbours per dimension.
        data: address of the first element.
        device: where that is, by default as `source`.
    """
    device = device or source.device
    code, bits, lanes = dtype_code(dtype)
    sizes = ctypes.c_int64 * max(len(shape), 1)
    prototype = DLTensor(
        data, DLDevice(device.dlpack_device_type(), device.index), len(shape),
        DLDataType(code, bits, lanes), sizes(*shape), sizes(*strides), 0,
    )  # fmt: skip
    view, managed = ctypes.c_void_p(), ctypes.c_void_p()
    handle = ctypes.c_void_p(source.__chandle__())
    library = tvm_ffi.LIB
    if library.TVMFFITensorCreateUnsafeView(handle, ctypes.byref(prototype), ctypes.byref(view)):
        raise InternalError("TVMFFITensorCreateUnsafeView failed")
    try:
        if library.TVMFFITensorToDLPack(view, ctypes.byref(managed)):
            raise InternalError("TVMFFITensorToDLPack failed")
    finally:
        library.TVMFFIObjectDecRef(view)
    # The consumer takes the structure over; if that fails, a few bytes leak.
    return import_tensor(new_capsule(managed, b"dltensor", None), cls)
