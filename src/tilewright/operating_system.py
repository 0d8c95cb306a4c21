"""Services that operating systems offer under different names, or not at all.

Everything else uses what all of them have, so that the package can be imported, and can compile and
run functions, on each.
"""

from __future__ import annotations

import getpass
import os
from typing import Any, Final

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

try:
    import msvcrt
except ImportError:
    msvcrt = None

_msvcrt: Any = msvcrt

try:
    import resource
except ImportError:  # Windows
    resource = None

OPEN_FLAGS: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags of `os.open` for files of bytes that child processes do not inherit."""

HAS_DIRECTORY_HANDLES: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether files can be opened relative to a directory that is open, without following links."""

_LOCKED_BYTE: Final = 2**40
"""The byte that stands for a whole file where locks are of bytes: far behind the end."""


def lock(file: int, *, exclusive: bool, wait: bool = True) -> None:
    """Lock a file until it is closed, among all processes that ask.

    Args:
        file: its descriptor.
        exclusive: whether no other process may have a lock. Where systems have no others, all are.
        wait: whether to wait for it.

    Raises:
        OSError: if another process has the lock and `wait` is False, or after a while.
    """
    if fcntl is not None:
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
    elif _msvcrt is not None:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            _msvcrt.locking(file, _msvcrt.LK_LOCK if wait else _msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(file, 0, os.SEEK_SET)


def read_at(file: int, count: int, offset: int) -> bytes:
    """At most `count` bytes of a file, from `offset` on."""
    if hasattr(os, "pread"):
        return os.pread(file, count, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, count)


def user_name() -> str:
    """A name that no other user of this machine has."""
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


def limit_memory() -> None:
    """Refuse requests for more memory than the machine has, which systems may grant at first."""
    if resource is None:
        return
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard == resource.RLIM_INFINITY or size < hard:
            resource.setrlimit(resource.RLIMIT_AS, (size, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        pass


def limit_processor_time(seconds: int) -> None:
    """End this process after so much processor time."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
