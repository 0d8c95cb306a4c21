"""Arrays by name in one file: the weights of a model, beside the library that has its code.

The format is TVM's, with little-endian numbers: a head, the names, and for each name its array.
A text is its length (uint64) and its bytes; an array is a head, the device (2 int32), the number of
dimensions (int32), the type (code and bits, uint8, lanes, uint16), the extents (int64), the size in
bytes (int64) and the elements.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

import numpy as np
import tvm_ffi

from tilewright.error import ArgumentError, ArgumentValueError, TVMError
from tilewright.runtime.device import CPU
from tilewright.runtime.dlpack import dtype_from_code
from tilewright.runtime.ndarray import NDArray, alias, empty

_LIST_HEAD: Final = struct.pack("<QQ", 0xF7E58D4F05049CB7, 0)
_ARRAY_HEAD: Final = struct.pack("<QQ", 0xDD5E40F096B4A13F, 0)
_DESCRIPTION: Final = struct.Struct("<iiiBBH")
_MOST_DIMENSIONS: Final = 64


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Arrays by name as bytes; see `load_param_dict`.

    Args:
        params: names and arrays (of this package or of numpy).
    """
    stream = io.BytesIO()
    _write(stream, params)
    return bytearray(stream.getbuffer())


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write arrays by name to a file; see `load_param_dict_from_file`.

    Args:
        params: names and arrays (of this package or of numpy).
        path: the file, which is replaced if it exists.
    """
    with open(path, "wb") as stream:
        _write(stream, params)


def load_param_dict(param_bytes: bytes | bytearray | memoryview) -> dict[str, NDArray]:
    """The arrays that `save_param_dict` made bytes of, as new arrays.

    Raises:
        ArgumentValueError: for bytes in another format, or truncated ones.
    """
    return _read(io.BytesIO(param_bytes))


def load_param_dict_from_file(path: str | os.PathLike[str]) -> dict[str, NDArray]:
    """The arrays in a file that `save_param_dict_to_file` wrote.

    Raises:
        ArgumentValueError: for a file that holds no such arrays, or not all of them.
    """
    with open(path, "rb") as stream:
        return _read(stream)


def _write(stream: BinaryIO, params: Mapping[str, Any]) -> None:
    arrays = {name: _as_array(name, value) for name, value in params.items()}
    stream.write(_LIST_HEAD + struct.pack("<Q", len(arrays)))
    for name in arrays:
        encoded = name.encode()
        stream.write(struct.pack("<Q", len(encoded)) + encoded)
    stream.write(struct.pack("<Q", len(arrays)))
    for array in arrays.values():
        kind = tvm_ffi.dtype(str(array.dtype))
        description = (CPU, 0, len(array.shape), kind.type_code, kind.bits, kind.lanes)
        values = np.ascontiguousarray(array._host_view("save_param_dict"))
        sizes = (*array.shape, values.nbytes)
        stream.write(_ARRAY_HEAD + _DESCRIPTION.pack(*description))
        stream.write(struct.pack(f"<{len(sizes)}q", *sizes))
        stream.write(values.reshape(-1).view(np.uint8).data)


def _as_array(name: object, value: object) -> NDArray:
    if not isinstance(name, str):
        raise ArgumentError(f"save_param_dict: names are strings, got {name!r}")
    if isinstance(value, np.ndarray):
        return alias(value)
    if not isinstance(value, NDArray):
        raise ArgumentError(f"save_param_dict: {name!r} must be an array, got {value!r}")
    return value


def _read(stream: BinaryIO) -> dict[str, NDArray]:
    if stream.read(len(_LIST_HEAD)) != _LIST_HEAD:
        raise ArgumentValueError("load_param_dict: this is not what save_param_dict writes")
    try:
        names = [_exactly(stream, _number(stream)).decode() for _ in range(_number(stream))]
        if _number(stream) != len(names):
            raise EOFError
        return {name: _read_array(stream) for name in names}
    except (EOFError, ValueError, TVMError):
        raise ArgumentValueError(
            f"load_param_dict: the content is damaged, or ends too early, at byte {stream.tell()}"
        ) from None


def _read_array(stream: BinaryIO) -> NDArray:
    if _exactly(stream, len(_ARRAY_HEAD)) != _ARRAY_HEAD:
        raise EOFError
    described = _DESCRIPTION.unpack(_exactly(stream, _DESCRIPTION.size))
    _, _, ndim, code, bits, lanes = described
    if not 0 <= ndim <= _MOST_DIMENSIONS:
        raise EOFError
    *shape, size = struct.unpack(f"<{ndim + 1}q", _exactly(stream, 8 * (ndim + 1)))
    _require(stream, size)
    array = empty(shape, str(dtype_from_code(code, bits, lanes)))
    memory = array._host_view("load_param_dict").reshape(-1).view(np.uint8)
    if memory.nbytes != size or stream.readinto(memory.data) != size:  # type: ignore[attr-defined]
        raise EOFError
    return array


def _number(stream: BinaryIO) -> int:
    return struct.unpack("<Q", _exactly(stream, 8))[0]


def _exactly(stream: BinaryIO, size: int) -> bytes:
    _require(stream, size)
    return stream.read(size)


def _require(stream: BinaryIO, size: int) -> None:
    """Nothing is allocated for sizes that damaged content only claims."""
    position = stream.tell()
    left = stream.seek(0, os.SEEK_END) - position
    stream.seek(position)
    if not 0 <= size <= left:
        raise EOFError
