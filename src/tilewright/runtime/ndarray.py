"""Arrays: `NDArray` and the functions that make one."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from tvm_ffi import core

from tilewright.error import (
    AllocationError,
    ArgumentError,
    ArgumentValueError,
    DeviceError,
    DTypeError,
    ShapeError,
)
from tilewright.ir.dtype import DType
from tilewright.runtime.device import (
    CPU,
    DEVICE_TYPES,
    Device,
    as_device,
    cpu,
    driver_of,
    has_driver,
    require_host,
)
from tilewright.runtime.dlpack import dtype_from_code, import_tensor, view_of
from tilewright.runtime.torch_tensors import require_plain

ALIGNMENT: Final = 64
"""Alignment of new arrays in bytes: a cache line, and the widest vector."""

MAX_DIMENSIONS: Final = 64
"""The largest rank of an array, which is numpy's."""


LEGACY_STREAM: Final = 1
"""The default stream of CUDA, in the numbers of the Array API standard and of CUDA itself."""

NO_STREAM: Final = -1
"""What a consumer of DLPack says that needs nothing to be waited for."""


class _HostMemory:
    """Memory of an array, in the form that numpy takes; keeps the array alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


class NDArray(core.Tensor):
    """An array in the memory of a device.

    It is a tvm-ffi tensor, so compiled functions take it as it is, and a DLPack producer, so that
    `numpy.from_dlpack`, `torch.from_dlpack` and others share its memory. Make one with `array`,
    `empty` or `from_dlpack`. Two arrays are equal only if they are the same object; compare
    contents with `numpy()`.
    """

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """Type of one element."""
        data_type = super().dtype
        return dtype_from_code(data_type.type_code, data_type.bits, data_type.lanes)

    @property
    def device(self) -> Device:
        """The device whose memory holds the elements."""
        return as_device(super().device)

    def numpy(self) -> np.ndarray:
        """A copy of the elements as a numpy array (`ml_dtypes` types for bfloat16 and float8)."""
        return self._elements("numpy()").copy()

    def tobytes(self) -> bytes:
        """The elements one after the other, the last dimension fastest."""
        return self._elements("tobytes()").tobytes()

    def asnumpy(self) -> np.ndarray:
        """The old name of `numpy`."""
        return self.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        view = self._elements("numpy conversion")
        if dtype is not None and np.dtype(dtype) != view.dtype:
            return view.astype(dtype)
        return view if copy is False else view.copy()

    def copyfrom(self, source: Any) -> NDArray:
        """Set all elements from `source`, an array of the same shape; returns this array.

        Elements of another dtype are converted; but uint16 are the bits of bfloat16, for which
        numpy has no dtype of its own.

        Raises:
            ShapeError: if the shape differs.
            ArgumentError: if `source` is not an array.
        """
        if isinstance(source, NDArray):
            values = source._elements("copyfrom")
        else:
            values = _as_numpy(source, "copyfrom")
        shape = self._numpy_shape
        if values.shape != shape:
            raise ShapeError(f"copyfrom: the source has shape {values.shape}, this array {shape}")
        self._set_elements(_as_elements(values, self.dtype), "copyfrom")
        return self

    def copyto(self, target: NDArray | Device, mem_scope: str | None = None) -> NDArray:
        """Copy to another array, or to a new array on the device `target`; returns that array.

        Args:
            target: an array of the same shape, or a device.
            mem_scope: memory of the device; only the default exists on the CPU.
        """
        if isinstance(target, core.Device):
            return empty(self.shape, self.dtype, target, mem_scope).copyfrom(self)
        if not isinstance(target, NDArray):
            raise ArgumentError(f"copyto: expected an array or a device, got {target!r}")
        return target.copyfrom(self)

    def same_as(self, other: object) -> bool:
        """Whether `other` is this same array (not merely equal in content)."""
        return isinstance(other, core.CObject) and self.__chandle__() == other.__chandle__()

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A DLPack capsule of this array.

        Args:
            stream: on a CUDA device, the stream of the consumer, whose later work waits for what
                has been started here. None and 1 are the default stream, -1 is none.
            max_version: the newest version of DLPack that the consumer knows.
            dl_device: where it wants the array; only where this array is.
            copy: whether it wants a copy; only False or None.

        Raises:
            BufferError: for another device, or a copy.
        """
        place = super().device
        if place.dlpack_device_type() == DEVICE_TYPES["cuda"] and stream != NO_STREAM:
            driver, consumer = driver_of(place, "__dlpack__"), stream or LEGACY_STREAM
            ours = driver.stream(place.index) or LEGACY_STREAM
            if consumer != ours:
                driver.wait(place.index, consumer, ours)
        return super().__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def to_dlpack(self) -> object:
        """A DLPack capsule of this array, for `from_dlpack` of another package."""
        return self.__dlpack__()

    def _create_view(
        self, shape: Sequence[int], dtype: str | None = None, relative_byte_offset: int = 0
    ) -> NDArray:
        """A compact array over a part of this one's memory.

        Args:
            shape: extents of the view.
            dtype: its element type, by default this array's.
            relative_byte_offset: where it starts, from the first element of this array.

        Raises:
            ArgumentValueError: if this array is not compact, or the view does not lie inside it.
        """
        extents, element = _extents(shape, "_create_view"), self.dtype
        if dtype is not None:
            element = DType(dtype)
        size, needed = _bytes(self.shape, self.dtype), _bytes(extents, element)
        if not self.is_contiguous():
            raise ArgumentValueError("_create_view: only a compact array has views; copy it first")
        if not 0 <= relative_byte_offset <= size - needed:
            raise ArgumentValueError(
                f"_create_view: {needed} bytes from byte {relative_byte_offset} do not lie inside "
                f"an array of {size} bytes"
            )
        address = self.data_ptr() + relative_byte_offset
        return view_of(self, NDArray, element, extents, _compact_strides(extents), address)

    def __getitem__(self, index: Any) -> Any:
        """A copy of the selected elements (numpy's indexing), or one element."""
        selected = self._elements("indexing")[index]
        return selected.copy() if isinstance(selected, np.ndarray) else selected

    def __setitem__(self, index: Any, value: Any) -> None:
        """Set the selected elements (numpy's indexing and broadcasting), as `copyfrom` does."""
        if isinstance(value, NDArray):
            value = value._elements("indexing")
        if isinstance(value, (np.ndarray, np.generic)):
            value = _as_elements(value, self.dtype)
        elements = self._elements("indexing")
        elements[index] = value
        if self.device.device_type != CPU:
            self._set_elements(elements, "indexing")

    def __len__(self) -> int:
        if not self.ndim:
            raise ArgumentError("an array without dimensions has no length")
        return self.size(0)

    def __repr__(self) -> str:
        head = f"<tilewright.nd.NDArray shape={self.shape} dtype={self.dtype} {self.device!r}>"
        if self.device.device_type != CPU:
            return head
        return f"{head}\n{self._host_view('repr')!r}"

    def __str__(self) -> str:
        return str(self._elements("str"))

    def __reduce__(self) -> tuple[Any, ...]:
        place = self.device
        return _restore, (
            self.tobytes(), self.shape, str(self.dtype),
            place.device_type, place.device_id,
        )  # fmt: skip

    @property
    def _numpy_shape(self) -> tuple[int, ...]:
        """The shape of the elements as a numpy array: vectors have a dimension of their own."""
        lanes = self.dtype.lanes
        return (*self.shape, lanes) if lanes > 1 else tuple(self.shape)

    def _elements(self, purpose: str) -> np.ndarray:
        """The elements: those in the memory of the host, or a copy of those on a device."""
        place = super().device
        if place.dlpack_device_type() == CPU:
            return self._host_view(purpose)
        driver = driver_of(place, purpose)
        self._require_compact(purpose)
        elements = np.empty(self._numpy_shape, self.dtype.numpy)
        driver.read(self.data_ptr(), elements)
        return elements

    def _set_elements(self, values: np.ndarray, purpose: str) -> None:
        """Set all elements, converted to the dtype of this array."""
        place = super().device
        if place.dlpack_device_type() == CPU:
            np.copyto(self._host_view(purpose), values, casting="unsafe")
            return
        driver = driver_of(place, purpose)
        self._require_compact(purpose)
        driver.write(
            self.data_ptr(),
            np.ascontiguousarray(values.astype(self.dtype.numpy, casting="unsafe", copy=False)),
        )

    def _require_compact(self, purpose: str) -> None:
        if not self.is_contiguous():
            raise ArgumentValueError(f"{purpose}: an array on a device has to be compact")

    def _host_view(self, purpose: str) -> np.ndarray:
        """The elements as a numpy array over the same memory, which it keeps alive."""
        require_host(super().device, purpose)
        dtype = self.dtype
        element = dtype.numpy
        strides = tuple(s * element.itemsize for s in self.strides)
        shape = self.shape
        if dtype.lanes > 1:
            strides = (*(s * dtype.lanes for s in strides), element.itemsize)
            shape = (*shape, dtype.lanes)
        # numpy's description of memory knows no bfloat16: it reads integers, the view renames.
        raw = element if element.isbuiltin == 1 else np.dtype(f"u{element.itemsize}")
        interface = {
            "version": 3, "shape": shape, "typestr": raw.str, "strides": strides,
            "data": (self.data_ptr(), False),
        }  # fmt: skip
        return np.asarray(_HostMemory(self, interface)).view(element)


class BorrowedArray(NDArray):
    """An array over memory of a device that is somebody else's, for as long as a call lasts."""

    __slots__ = ()


def array(arr: Any, device: Device | None = None, mem_scope: str | None = None) -> NDArray:
    """A new array with a copy of `arr`.

    Args:
        arr: a numpy array, an `NDArray`, or what `numpy.array` takes; Python floats become
            float32 as everywhere here, Python integers int64.
        device: where to put it, ``cpu(0)`` by default.
        mem_scope: memory of the device; only the default exists on the CPU.

    Returns:
        NDArray: compact, and aligned to 64 bytes.

    Raises:
        ArgumentError: if `arr` is not an array of numbers.
        DTypeError: for element types that no program can have, such as complex numbers.
        DeviceError: if the device does not exist.
    """
    if isinstance(arr, NDArray):
        values, dtype = arr._elements("array"), arr.dtype
    else:
        values = _as_numpy(arr, "nd.array")
        if not isinstance(arr, (np.ndarray, np.generic)) and values.dtype == np.float64:
            values = values.astype(np.float32)
        dtype = DType(values.dtype)
    result = empty(
        arr.shape if isinstance(arr, NDArray) else values.shape, dtype, device, mem_scope
    )
    result._set_elements(values, "array")
    return result


def empty(
    shape: int | Sequence[int],
    dtype: str = "float32",
    device: Device | None = None,
    mem_scope: str | None = None,
) -> NDArray:
    """A new array with arbitrary content, compact and aligned to 64 bytes.

    Args:
        shape: extents, at least 0 each; one may stand alone.
        dtype: type of one element.
        device: where to put it, ``cpu(0)`` by default.
        mem_scope: memory of the device; only ``"global"`` exists on the CPU.

    Raises:
        AllocationError: if there is not enough memory.
        ShapeError: for a negative extent.
        DTypeError: for an unknown dtype, or one without a representation in memory.
        DeviceError: if the device does not exist.
    """
    target = cpu() if device is None else as_device(device)
    is_host = target.device_type == CPU
    if is_host and target.index != 0:
        raise ArgumentValueError(f"nd.empty: this machine has one CPU device, cpu(0); got {target}")
    if mem_scope not in (None, "", "global"):
        raise ArgumentValueError(f"nd.empty: {target!r} has no memory scope {mem_scope!r}")
    element = DType(dtype)
    if element.code in ("void", "handle") or (element.bits % 8 and not element.is_bool):
        raise DTypeError(f"nd.empty: an array cannot hold elements of dtype {element!s}")
    extents = _extents(shape, "nd.empty")
    if not is_host:
        from tilewright.runtime.device_driver import empty_on_device

        driver_of(target, "nd.empty")
        return empty_on_device(NDArray, target, element, extents, _bytes(extents, element))
    memory = _aligned_bytes(_bytes(extents, element), extents, element)
    if element.lanes == 1 and element.numpy.isbuiltin == 1:
        return import_tensor(memory.view(element.numpy).reshape(extents), NDArray)
    source = import_tensor(memory, core.Tensor)
    return view_of(source, NDArray, element, extents, _compact_strides(extents), memory.ctypes.data)


def from_dlpack(dltensor: Any) -> NDArray:
    """The array that `dltensor` exports, without a copy.

    Args:
        dltensor: a DLPack producer (of torch, numpy, jax, ...) or capsule.

    Raises:
        ArgumentError: if it is neither.
        DeviceError: if it is on a device that this package cannot use here.
        ArgumentValueError: if the producer refuses (such as numpy for a read-only array), or for a
            tensor of torch whose negative or conjugate bit is set.
    """
    if isinstance(dltensor, NDArray):
        return dltensor
    require_plain(dltensor, "from_dlpack")
    try:
        return import_tensor(_after_pending_work(dltensor), NDArray)
    except DeviceError:
        raise
    except BufferError as error:
        raise ArgumentValueError(f"from_dlpack: {error}") from None
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"from_dlpack: {error}") from None


def _after_pending_work(producer: Any) -> Any:
    """A capsule of an array on a CUDA device; other producers and capsules stay as they are.

    Work that our stream is given later waits for what the producer has started so far (Array API
    standard, ``__dlpack__``).
    """
    if not hasattr(producer, "__dlpack_device__"):
        return producer
    kind, number = producer.__dlpack_device__()
    if kind != DEVICE_TYPES["cuda"]:
        return producer
    place = Device(int(kind), int(number))
    stream = driver_of(place, "from_dlpack").stream(place.device_id) or LEGACY_STREAM
    return producer.__dlpack__(stream=stream)


def alias(values: np.ndarray) -> NDArray:
    """A numpy array as an array over the same memory, also where numpy itself refuses.

    numpy exports neither read-only arrays nor the types of `ml_dtypes` through DLPack. The result
    of a read-only array must not be written.

    Raises:
        DTypeError: for element types that no program can have.
    """
    dtype = DType(values.dtype)
    if not values.dtype.isbuiltin or not values.dtype.isnative:
        raise DTypeError(f"no dtype for numpy's {values.dtype!r}")
    interface = dict(values.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    if values.dtype.isbuiltin == 1:
        return import_tensor(np.asarray(_HostMemory(values, interface)), NDArray)
    interface["typestr"] = np.dtype(f"u{values.itemsize}").str
    del interface["descr"]
    source = import_tensor(np.asarray(_HostMemory(values, interface)), core.Tensor)
    strides = tuple(stride // values.itemsize for stride in values.strides)
    return view_of(source, NDArray, dtype, values.shape, strides, source.data_ptr())


def borrowed(tensor: core.Tensor) -> core.Tensor:
    """A tensor of tvm-ffi as an `NDArray`.

    A tensor that compiled code made on its stack is valid during the call only; its array refers
    to the same elements and must not be kept either, but its shape and dtype are copied.
    """
    kind = tensor.__dlpack_device__()[0]
    if isinstance(tensor, NDArray) or not (kind == CPU or has_driver(kind)):
        return tensor
    if tensor.__chandle__():
        return import_tensor(tensor, NDArray)
    data_type = tensor.dtype
    dtype = dtype_from_code(data_type.type_code, data_type.bits, data_type.lanes)
    anchor = import_tensor(np.empty(0, np.uint8), core.Tensor)
    cls = NDArray if kind == CPU else BorrowedArray
    return view_of(
        anchor, cls, dtype, tensor.shape, tensor.strides, tensor.data_ptr(),
        tensor.device,
    )  # fmt: skip


def _as_numpy(source: Any, purpose: str) -> np.ndarray:
    if isinstance(source, core.Tensor):
        return import_tensor(source, NDArray)._host_view(purpose)
    try:
        values = np.asarray(source)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{purpose}: expected an array of numbers: {error}") from None
    if values.dtype.hasobject or values.dtype.kind in "USMmO":
        raise ArgumentError(f"{purpose}: expected an array of numbers, got {source!r:.200}")
    return values


def _as_elements(values: Any, dtype: DType) -> Any:
    """Elements for an array of `dtype`; uint16 stand for the bits of bfloat16."""
    is_bits = dtype.element == "bfloat16" and values.dtype == np.uint16
    return values.view(dtype.numpy) if is_bits else values


def _extents(shape: int | Sequence[int], purpose: str) -> tuple[int, ...]:
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        extents = tuple(operator.index(item) for item in items)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"{purpose}: a shape is a tuple of integers, got {shape!r}") from None
    for extent in extents:
        if extent < 0:
            raise ShapeError(f"{purpose}: the extents of a shape are at least 0, got {extents}")
    if len(extents) > MAX_DIMENSIONS:
        raise ShapeError(f"{purpose}: at most {MAX_DIMENSIONS} dimensions, got {len(extents)}")
    return extents


def _bytes(extents: Sequence[int], dtype: DType) -> int:
    return math.prod(extents) * dtype.itemsize


def _compact_strides(extents: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(extents):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _aligned_bytes(size: int, extents: tuple[int, ...], dtype: DType) -> np.ndarray:
    """`size` bytes of new memory, aligned to `ALIGNMENT`."""
    too_large = AllocationError(
        f"no memory for an array of shape {extents} and dtype {dtype!s}: {size} bytes"
    )
    if max((size, *extents)) > 2**62:
        raise too_large
    try:
        memory = np.empty(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):
        raise too_large from None
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def _restore(
    content: bytes, shape: tuple[int, ...], dtype: str, device_type: int, device_id: int
) -> NDArray:
    """An unpickled array; on the CPU if its device does not exist here."""
    place = Device(device_type, device_id)
    result = empty(shape, dtype, place if place.exist else None)
    elements = np.frombuffer(content, result.dtype.numpy).reshape(result._numpy_shape)
    result._set_elements(elements, "unpickling")
    return result
