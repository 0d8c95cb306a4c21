"""Compiled code that is kept between processes: files named by what they were made from.

The key of a file is a hash of everything that its content depends on, so a file is never out of
date. It is written beside its place and then renamed, and ends in a checksum of its key and
content: processes may share a directory, and what a crash has left of a file is not taken for code.

What is loaded is executed. So directories and files count only if nobody but this user (or root)
can have written them, and symbolic links are not followed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import mmap
import os
import secrets
import stat
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import tilewright
from tilewright.driver.digests import DIGEST_SIZE, checksum_of
from tilewright.operating_system import HAS_DIRECTORY_HANDLES
from tilewright.target import Target

DIRECTORY_VARIABLE: Final = "TILEWRIGHT_CACHE_DIR"
"""The environment variable that names the directory; empty for no cache."""

SIZE_LIMIT: Final = 1 << 32
"""Bytes that the files of a directory may have together; the oldest are removed."""

FILE_LIMIT: Final = SIZE_LIMIT // 2
"""Bytes that one file may have, so that a large model does not drive out all others."""

_SUFFIX: Final = ".bin"
_UNFINISHED: Final = ".tmp"
_ABANDONED: Final = 3600
"""Seconds after which a process that has not finished its file no longer will."""

_refused: set[str] = set()
"""Directories of which the user has been warned."""


class _UntrustedError(OSError):
    """Somebody else may have written a file or directory."""


class ObjectCache:
    """The files of one directory, which need not exist."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)

    def get(self, key: str) -> bytes | None:
        """What was kept under a key; None if there is nothing, or it is damaged."""
        content = self._mapped(key)
        return None if content is None else bytes(content)

    def get_mapped(self, key: str) -> memoryview | None:
        """As `get`, but the content is mapped from the file, at the beginning of a page."""
        return self._mapped(key)

    def _mapped(self, key: str) -> memoryview | None:
        with (
            self._errors(),
            self._opened(key[:2]) as directory,
            _open(_name(key), directory) as file,
        ):
            if os.fstat(file).st_size < DIGEST_SIZE:
                return None
            content = memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_COPY))
            data, checksum = content[:-DIGEST_SIZE], content[-DIGEST_SIZE:]
            if _checksum(key, data) != bytes(checksum):
                return None
            with contextlib.suppress(OSError):
                os.utime(file)  # it is among the youngest now
            return data
        return None

    def put(self, key: str, *parts: bytes | memoryview) -> None:
        """Keep something under a key: its parts one after another.

        Nothing is kept if the directory cannot be written, or if it is larger than `FILE_LIMIT`.
        """
        if sum(len(part) for part in parts) > FILE_LIMIT:
            return
        with self._errors():
            self._make(self._directory)
            with self._opened() as root, contextlib.suppress(FileExistsError):
                os.mkdir(key[:2], 0o700, dir_fd=root)
            with self._opened(key[:2]) as directory:
                _write(directory, _name(key), (*parts, _checksum(key, *parts)))

    def trim(self, limit: int = SIZE_LIMIT) -> None:
        """Remove the files that were not used for the longest time, down to `limit` bytes.

        What processes have left behind that were ended while they wrote is removed, too.
        """
        found: list[tuple[float, int, str, str]] = []  # when used, bytes, name, subdirectory
        with self._errors(), self._opened() as root:
            for part in os.listdir(root):
                with contextlib.suppress(OSError), self._opened(part) as directory:
                    found += [(*file, part) for file in _files(directory)]
        total = 0
        for used, size, name, part in sorted(found, reverse=True):
            is_left_over = name.endswith(_UNFINISHED)
            if is_left_over and time.time() - used <= _ABANDONED:
                continue
            total += 0 if is_left_over else size
            if is_left_over or total > limit:
                with contextlib.suppress(OSError), self._opened(part) as directory:
                    os.unlink(name, dir_fd=directory)

    @staticmethod
    def _make(directory: Path) -> None:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(directory, 0o700)

    @contextlib.contextmanager
    def _opened(self, part: str | None = None) -> Iterator[int]:
        """A descriptor of the directory, or of a part of it, that can be trusted."""
        with _open(self._directory, None, os.O_DIRECTORY) as root:
            if part is None:
                yield root
                return
            with _open(part, root, os.O_DIRECTORY) as directory:
                yield directory

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """What cannot be read or written is not there; what is not safe is told once."""
        try:
            yield
        except _UntrustedError as error:
            place = os.path.abspath(self._directory)
            if place not in _refused:
                _refused.add(place)
                warnings.warn(
                    f"the cache {place} is not used: {error}. Make it yours alone with "
                    f"`chmod -R go-w`, or name another directory in {DIRECTORY_VARIABLE}",
                    stacklevel=4,
                )
        except (OSError, ValueError):
            return


def _name(key: str) -> str:
    return f"{key}{_SUFFIX}"


@contextlib.contextmanager
def _open(name: str | Path, directory: int | None, flags: int = 0) -> Iterator[int]:
    """A descriptor of a file or directory that nobody else can have written.

    Raises:
        _UntrustedError: if somebody else can.
    """
    flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=directory)
    except OSError:
        if stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode):
            raise _UntrustedError(f"{name} is a symbolic link") from None
        raise
    try:
        status = os.fstat(file)
        if status.st_uid not in (os.geteuid(), 0):
            raise _UntrustedError(f"{name} belongs to another user")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _UntrustedError(f"other users may write {name}")
        if not (flags & os.O_DIRECTORY or stat.S_ISREG(status.st_mode)):
            raise _UntrustedError(f"{name} is not a file")
        yield file
    finally:
        os.close(file)


def _write(directory: int, name: str, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file in a directory in one step, for this user only."""
    unfinished = f"{secrets.token_hex(8)}{_UNFINISHED}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(unfinished, flags, 0o600, dir_fd=directory)
    try:
        with os.fdopen(handle, "wb") as stream:
            for part in parts:
                stream.write(part)
        os.replace(unfinished, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(unfinished, dir_fd=directory)
        raise


def _files(directory: int) -> Iterator[tuple[float, int, str]]:
    """When each file of a directory was used for the last time, its size in bytes, and its name."""
    for name in os.listdir(directory):
        if name.endswith((_SUFFIX, _UNFINISHED)):
            with contextlib.suppress(OSError):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                yield status.st_mtime, status.st_size, name


def default_cache() -> ObjectCache | None:
    """The cache of this user; None if it is switched off, or cannot be kept from others here.

    It is in the directory that ``TILEWRIGHT_CACHE_DIR`` names, or else in ``tilewright`` of
    ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    if not HAS_DIRECTORY_HANDLES:
        return None
    named = os.environ.get(DIRECTORY_VARIABLE)
    if named is not None:
        return ObjectCache(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return ObjectCache(os.path.join(base, "tilewright"))


def key_of(parts: Iterable[str]) -> str:
    """A key for what depends on `parts`, and on this package."""
    hashed = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for part in (package_fingerprint(), *parts):
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.hexdigest()


def target_facts(target: Target) -> tuple[str, ...]:
    """All that code may depend on about a target and the machine that it describes."""
    return (
        str(target), target.triple, target.cpu, target.feature_string, str(target.num_cores),
        str(target.cache_sizes), str(target.vector_bits), str(target.vector_registers),
    )  # fmt: skip


@functools.cache
def package_fingerprint() -> str:
    """The versions of LLVM and of this package, and the date of each of its files."""
    import llvmlite
    from llvmlite.binding import llvm_version_info

    root = Path(tilewright.__file__).parent
    hashed = hashlib.blake2b(digest_size=DIGEST_SIZE)
    for directory, subdirectories, files in os.walk(root):
        subdirectories.sort()
        for name in sorted(files):
            if name.endswith((".py", ".ll")):
                status = os.stat(os.path.join(directory, name))
                hashed.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    llvm = ".".join(map(str, llvm_version_info))
    return f"{tilewright.__version__} {llvmlite.__version__} {llvm} {hashed.hexdigest()}"


def _checksum(key: str, *parts: bytes | memoryview) -> bytes:
    return checksum_of((key.encode(), *parts))
