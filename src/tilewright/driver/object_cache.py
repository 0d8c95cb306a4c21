"""Compiled code that is kept between processes: files named by what they were made from.

The key of a file is a hash of everything that its content depends on, so a file is never out of
date. It is written beside its place and then renamed, and ends in a hash of its content: processes
may share a directory, and what a crash has left of a file is not taken for code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import mmap
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import tilewright
from tilewright.target import Target

DIRECTORY_VARIABLE: Final = "TILEWRIGHT_CACHE_DIR"
"""The environment variable that names the directory; empty for no cache."""

SIZE_LIMIT: Final = 1 << 30
"""Bytes that the files of a directory may have together; the oldest are removed."""

FILE_LIMIT: Final = SIZE_LIMIT // 2
"""Bytes that one file may have, so that a large model does not drive out all others."""

_DIGEST_SIZE: Final = 32
_SUFFIX: Final = ".bin"
_UNFINISHED: Final = ".tmp"
_ABANDONED: Final = 3600
"""Seconds after which a process that has not finished its file no longer will."""


class ObjectCache:
    """The files of one directory, which need not exist."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)

    def get(self, key: str) -> bytes | None:
        """What was kept under a key; None if there is nothing, or it is damaged."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        data, digest = content[:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
        if len(digest) < _DIGEST_SIZE or _digest(data) != digest:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # it is among the youngest now
        return data

    def get_mapped(self, key: str) -> memoryview | None:
        """As `get`, but the content is mapped from the file, at the beginning of a page."""
        path = self._path(key)
        try:
            with open(path, "rb") as stream:
                content = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
        except (OSError, ValueError):
            return None
        data, digest = content[:-_DIGEST_SIZE], content[-_DIGEST_SIZE:]
        if len(digest) < _DIGEST_SIZE or _digest(data) != bytes(digest):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return data

    def put(self, key: str, *parts: bytes | memoryview) -> None:
        """Keep something under a key: its parts one after another.

        Nothing is kept if the directory cannot be written, or if it is larger than `FILE_LIMIT`.
        """
        if sum(len(part) for part in parts) > FILE_LIMIT:
            return
        path, digest = self._path(key), hashlib.sha256()
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(suffix=_UNFINISHED, dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as stream:
                    for part in parts:
                        stream.write(part)
                        digest.update(part)
                    stream.write(digest.digest())
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
                raise

    def trim(self, limit: int = SIZE_LIMIT) -> None:
        """Remove the files that were not used for the longest time, down to `limit` bytes.

        What processes have left behind that were ended while they wrote is removed, too.
        """
        found = []
        for path in self._directory.glob(f"*/*{_UNFINISHED}"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()
        for path in self._directory.glob(f"*/*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = 0
        for _, size, path in sorted(found, reverse=True):
            total += size
            if total > limit:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _path(self, key: str) -> Path:
        return self._directory / key[:2] / f"{key}{_SUFFIX}"


def default_cache() -> ObjectCache | None:
    """The cache of this user; None if it is switched off.

    It is in the directory that ``TILEWRIGHT_CACHE_DIR`` names, or else in ``tilewright`` of
    ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    named = os.environ.get(DIRECTORY_VARIABLE)
    if named is not None:
        return ObjectCache(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return ObjectCache(os.path.join(base, "tilewright"))


def key_of(parts: Iterable[str]) -> str:
    """A key for what depends on `parts`, and on this package."""
    hashed = hashlib.blake2b(digest_size=_DIGEST_SIZE)
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
    """The version of this package, and for one that is being worked on, of each of its files."""
    import llvmlite

    root = Path(tilewright.__file__).parent
    hashed = hashlib.blake2b(digest_size=_DIGEST_SIZE)
    for directory, subdirectories, files in os.walk(root):
        subdirectories.sort()
        for name in sorted(files):
            if name.endswith((".py", ".ll")):
                status = os.stat(os.path.join(directory, name))
                hashed.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return f"{tilewright.__version__} {llvmlite.__version__} {hashed.hexdigest()}"


def _digest(data: bytes | memoryview) -> bytes:
    return hashlib.sha256(data).digest()  # which CPUs have instructions for
