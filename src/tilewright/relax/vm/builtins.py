"""Registered functions that compiled graphs call: copies, debugging, caches of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError, ShapeError, UnknownNameError
from tilewright.ir.dtype import DType
from tilewright.runtime.device import Device
from tilewright.runtime.ndarray import NDArray, alias, empty
from tilewright.runtime.registry import get_global_func, register_func


@register_func("vm.builtin.copy", override=True)
def copy(value: Any) -> Any:
    """The value itself: a second name for it."""
    return value


@register_func("vm.builtin.to_device", override=True)
def to_device(array: NDArray, device_type: int, device_id: int) -> NDArray:
    """The array on a device, given by DLPack's number of its type: itself if it is there.

    Raises:
        DeviceError: if the device does not exist.
    """
    target = Device(device_type, device_id)
    return array if array.device == target else array.copyto(target)


CALL_DEBUG_FUNCTION: Final = "vm.builtin.invoke_debug_func"


@register_func(CALL_DEBUG_FUNCTION, override=True)
def invoke_debug_func(effect: Any, name: str, line: str, *args: Any) -> Any:
    """Call the registered function `name` with a line of the source and arguments.

    Args:
        effect: the state before the call, which is returned.
        name: the function.
        line: ``"file:line"``, the place in the user's source.
        *args: its further arguments.

    Raises:
        UnknownNameError: if no such function is registered.
    """
    function = get_global_func(name, allow_missing=True)
    if function is None:
        raise UnknownNameError(
            f"{line}: debug_func calls {name!r}, and no function of that name is registered: use "
            f"register_func({name!r})"
        )
    function(line, *args)
    return effect


@register_func("vm.builtin.debug_print", override=True)
def debug_print(line: str, value: Any) -> None:
    """Print a value, and the place in the source where that is asked for."""
    print(f"[{line}]: {value!r}", flush=True)


CREATE_CACHE: Final = "vm.builtin.attention_kv_cache_create"
APPEND_TO_CACHE: Final = "vm.builtin.attention_kv_cache_append"
VIEW_OF_CACHE: Final = "vm.builtin.attention_kv_cache_view"


class AttentionKVCache:
    """Rows of equal shape; the memory for them doubles when it is full.

    Attributes:
        length: the number of rows.
    """

    def __init__(self, rows: np.ndarray, capacity: int, length: int) -> None:
        self._rows, self.length = _memory(capacity, rows), length
        self._rows[:length] = rows[:length]

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end.

        Raises:
            ShapeError: for rows of another shape.
            ArgumentError: for another dtype.
        """
        if rows.shape[1:] != self._rows.shape[1:]:
            raise ShapeError(
                f"KVCache.append: a row has shape {self._rows.shape[1:]}, got {rows.shape[1:]}"
            )
        if rows.dtype != self._rows.dtype:
            raise ArgumentError(f"KVCache.append: the cache has {self._rows.dtype}: {rows.dtype}")
        needed = self.length + len(rows)
        if needed > len(self._rows):
            larger = _memory(max(needed, 2 * len(self._rows)), rows)
            larger[: self.length] = self._rows[: self.length]
            self._rows = larger
        self._rows[self.length : needed] = rows
        self.length = needed

    def view(self, shape: Sequence[int]) -> np.ndarray:
        """The rows as an array of `shape`, over the memory of the cache.

        Raises:
            ShapeError: if the number of elements differs, or there are fewer rows.
        """
        if tuple(shape[1:]) == self._rows.shape[1:]:
            if shape[0] > self.length:
                raise ShapeError(f"KVCache.view: {shape[0]} rows of a cache that has {self.length}")
            return self._rows[: shape[0]]
        rows = self._rows[: self.length]
        if rows.size != int(np.prod(shape)):
            raise ShapeError(f"KVCache.view: {rows.shape} cannot be seen as {tuple(shape)}")
        return rows.reshape(tuple(shape))


def _memory(capacity: int, like: np.ndarray) -> np.ndarray:
    """Aligned memory for `capacity` rows of the shape and dtype of those of `like`."""
    return empty((capacity, *like.shape[1:]), DType(like.dtype)).__array__(copy=False)


@register_func(CREATE_CACHE, override=True)
def attention_kv_cache_create(rows: NDArray, shape: Sequence[int], length: int) -> Any:
    """A cache of capacity `shape`, with the first `length` rows of `rows`."""
    return AttentionKVCache(rows.numpy(), int(shape[0]), int(length))


@register_func(APPEND_TO_CACHE, override=True)
def attention_kv_cache_append(cache: AttentionKVCache, rows: NDArray) -> Any:
    """Add rows to a cache, and return it."""
    cache.append(rows.numpy())
    return cache


@register_func(VIEW_OF_CACHE, override=True)
def attention_kv_cache_view(cache: AttentionKVCache, shape: Sequence[int]) -> Any:
    """The rows of a cache as an array."""
    return alias(cache.view([int(extent) for extent in shape]))
