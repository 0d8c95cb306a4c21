"""What compiled graph functions ask of a host with devices: which of them, and arrays on it."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Final

from tilewright.runtime.device import Device
from tilewright.runtime.launcher import launcher
from tilewright.runtime.ndarray import BorrowedArray, NDArray, empty
from tilewright.runtime.registry import register_func

CURRENT: Final = "tilewright.device.current"
MOVE: Final = "tilewright.device.move"


class _Chosen(threading.local):
    """The device that functions without arrays run on, per thread."""

    number: int = 0


_chosen = _Chosen()


@contextlib.contextmanager
def running_on(number: int) -> Iterator[None]:
    """Inside, compiled functions that are given no arrays run on the device of that number."""
    before, _chosen.number = _chosen.number, number
    try:
        yield
    finally:
        _chosen.number = before


@register_func(CURRENT, override=True)
def current(device_type: int) -> int:
    """The number of the device that `running_on` says."""
    del device_type  # a module has devices of one type
    return _chosen.number


@register_func(MOVE, override=True)
def move(device_type: int, device_id: int, value: Any) -> Any:
    """An array that owns its memory and is on a device; other values stay as they are.

    An array that is there already is not copied, unless it has gaps or borrows its memory.
    """
    if not isinstance(value, NDArray):
        return value
    place = Device(device_type, device_id)
    is_own = not isinstance(value, BorrowedArray)
    if is_own and value.device == place and value.is_contiguous():
        return value
    return empty(value.shape, value.dtype, place).copyfrom(value)


# --- constants ----------------------------------------------------------------------------------

_LOCK: Final = threading.Lock()
_users: dict[str, int] = {}
"""Numbers of modules that need constants, by the digest of the constants."""


def hold_constants(owner: object, digest: str) -> None:
    """Give up the copies of constants on devices when the last owner of them is gone."""
    if not digest:
        return
    with _LOCK:
        _users[digest] = _users.get(digest, 0) + 1
    weakref.finalize(owner, _let_go, digest).atexit = False


def _let_go(digest: str) -> None:
    with _LOCK:
        _users[digest] -= 1
        if not _users[digest]:
            del _users[digest]
            launcher().constants_release(digest.encode())
