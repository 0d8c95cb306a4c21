"""Tensors of ONNX as arrays. What a file says of them is checked before anything is read."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path
from typing import Final

import numpy as np
from onnx import TensorProto, numpy_helper

from tilewright.error import ArgumentValueError
from tilewright.relax.frontend.table import UnsupportedError

_DTYPES: Final = {
    TensorProto.BOOL: "bool",
    TensorProto.UINT8: "uint8",
    TensorProto.UINT16: "uint16",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.INT8: "int8",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
}
NARROW: Final = {
    TensorProto.INT4: ("int8", 4),
    TensorProto.UINT4: ("uint8", 4),
    TensorProto.INT2: ("int8", 2),
    TensorProto.UINT2: ("uint8", 2),
}
"""Integers of less than a byte: the dtype of arrays that have one in each byte, and the bits."""
ELEMENT_TYPES: Final = {name: number for number, name in _DTYPES.items()}
"""The number that ONNX has for each dtype."""

_FIELD_OF: Final = {
    TensorProto.FLOAT: "float_data", TensorProto.DOUBLE: "double_data",
    TensorProto.INT64: "int64_data", TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}  # fmt: skip
"""The field of the elements of a type, where it is not ``int32_data``."""


def type_name(element_type: int) -> str:
    """How ONNX calls a type of elements."""
    known = TensorProto.DataType.values()
    return TensorProto.DataType.Name(element_type) if element_type in known else f"{element_type}"


def dtype_of(element_type: int) -> str:
    """The dtype of arrays for tensors of a type.

    Raises:
        UnsupportedError: for a type that no array has, such as texts.
    """
    if element_type in NARROW:
        return NARROW[element_type][0]  # type: ignore[index]
    if element_type not in _DTYPES:
        raise UnsupportedError(f"tensors of {type_name(element_type)} are not supported")
    return _DTYPES[element_type]  # type: ignore[index]


def array_of(tensor: TensorProto, folder: Path | None) -> np.ndarray:
    """The elements of a tensor.

    Args:
        tensor: with all elements in itself, or in a file.
        folder: where files of elements may be; None if there is no such place.

    Raises:
        ArgumentValueError: for a tensor that contradicts itself, or whose elements are elsewhere.
        UnsupportedError: for a type that no array has.
    """
    name = f"the tensor {tensor.name[:80]!r}"
    dtype = np.dtype(dtype_of(tensor.data_type)) if tensor.data_type != TensorProto.BFLOAT16 else 2
    if tensor.HasField("segment"):
        raise ArgumentValueError(f"{name} is a segment of a tensor, which nothing supports")
    if any(extent < 0 for extent in tensor.dims):
        raise ArgumentValueError(f"{name} has a negative extent: {list(tensor.dims)}")
    count = math.prod(tensor.dims)
    width = dtype if isinstance(dtype, int) else dtype.itemsize
    size = count * width
    if tensor.data_type in NARROW:
        size = -(-count * NARROW[tensor.data_type][1] // 8)  # type: ignore[index]
    if tensor.data_location == TensorProto.EXTERNAL:
        raw = _read_external(tensor, name, size, folder)
        copy = TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=raw)
        return _decoded(copy, name)
    _check_inner(tensor, name, count, size)
    return _decoded(tensor, name)


def _check_inner(tensor: TensorProto, name: str, count: int, size: int) -> None:
    """Refuse a tensor that has more or fewer elements than its shape says."""
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != size:
            raise ArgumentValueError(
                f"{name} of shape {list(tensor.dims)} needs {size} bytes, it has "
                f"{len(tensor.raw_data)}"
            )
        return
    field = _FIELD_OF.get(tensor.data_type, "int32_data")  # type: ignore[arg-type]
    found = len(getattr(tensor, field))
    wanted = count
    if tensor.data_type in NARROW:
        wanted = size
    if found != wanted:
        raise ArgumentValueError(
            f"{name} of shape {list(tensor.dims)} needs {wanted} elements in {field}, it has "
            f"{found}"
        )


def _decoded(tensor: TensorProto, name: str) -> np.ndarray:
    try:
        array = np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentValueError(f"{name} cannot be read: {error}") from None
    if tensor.data_type in NARROW:
        return array.astype(NARROW[tensor.data_type][0])  # type: ignore[index]
    return array


# --- files of elements ------------------------------------------------------------------------


def _read_external(tensor: TensorProto, name: str, size: int, folder: Path | None) -> bytes:
    """The bytes of a tensor from a file in the folder of the model.

    Nothing outside of the folder is opened, whatever the file says: not by an absolute path, nor
    through ``..`` or a symbolic link.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise ArgumentValueError(
            f"{name} is in the file {location[:200]!r}: give from_onnx the path of the model, so "
            "that it knows the folder"
        )
    path = _inside(folder, location, name)
    offset, length = (_number(entries, key, name) for key in ("offset", "length"))
    if length is not None and length != size:
        raise ArgumentValueError(
            f"{name} of shape {list(tensor.dims)} needs {size} bytes, its entry has {length}"
        )
    return _read(path, offset or 0, size, name)


def _inside(folder: Path, location: str, name: str) -> Path:
    parts = Path(location).parts
    problem = f"{name} is in the file {location[:200]!r}, which is not in the folder of the model"
    if not location or "\0" in location or Path(location).is_absolute() or ".." in parts:
        raise ArgumentValueError(problem)
    home = folder.resolve()
    try:
        path = (home / location).resolve(strict=True)
    except (OSError, RuntimeError):
        raise ArgumentValueError(f"{name}: there is no file {location[:200]!r}") from None
    if not path.is_relative_to(home):
        raise ArgumentValueError(problem)
    return path


def _number(entries: dict[str, str], key: str, name: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise ArgumentValueError(f"{name}: {key} of its file is {text[:40]!r}, no number of bytes")
    return int(text)


def _read(path: Path, offset: int, size: int, name: str) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ArgumentValueError(f"{name}: {path.name!r} is not a file of data")
            if offset + size > status.st_size:
                raise ArgumentValueError(
                    f"{name} ends at byte {offset + size} of {path.name!r}, which has "
                    f"{status.st_size}"
                )
            file.seek(offset)
            data = file.read(size)
    except OSError as error:
        raise ArgumentValueError(f"{name}: cannot read {path.name!r}: {error.strerror}") from None
    if len(data) != size:
        raise ArgumentValueError(f"{name}: {path.name!r} became shorter while it was read")
    return data
