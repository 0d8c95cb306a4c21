"""An append-only file of JSON lines for many processes, which a killed one cannot corrupt."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tilewright import operating_system
from tilewright.error import DatabaseError, RecordError


class Line(NamedTuple):
    """A line of a file.

    Attributes:
        number: its number, from 1 on.
        text: its content, without the line break.
        is_torn: whether the end of the line is missing, as the process that wrote it died.
    """

    number: int
    text: bytes
    is_torn: bool = False

    @property
    def is_comment(self) -> bool:
        """Whether it begins with ``#``."""
        return self.text.lstrip().startswith(b"#")

    def parsed(self, parse: Callable[[bytes], Any] = json.loads) -> Any:
        """The value of the JSON text.

        Args:
            parse: reads the text.

        Raises:
            RecordError: if its end is missing, or it is not JSON.
        """
        if self.is_torn:
            raise RecordError(
                "the end of the line is missing: the process that wrote it was killed"
            )
        try:
            return parse(self.text)
        except (ValueError, RecursionError):
            raise RecordError("this is not JSON") from None


class LineFile:
    """An append-only file of lines of JSON, and how far this object has read it.

    Each line is written by one system call to the end of the file, while a lock is held, and a
    batch is on the disk before `append` returns. Readers hold the lock, too, so that a line
    without an end is one whose writer died: the next writer removes it.

    Args:
        path: the file, which need not exist.

    Attributes:
        generation: changes when the file is removed, or replaced by another one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.generation = 0
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._lines = 0
        self._torn_at = -1

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path.exists()

    def read_new(self) -> list[Line]:
        """The lines that were appended since the last call, by whomever.

        A line without an end is returned once, and again when it is complete.
        """
        try:
            stat = os.stat(self.path)
        except FileNotFoundError:
            if self._identity is not None:
                self._start(None)
            return []
        except OSError as error:
            raise _failure("read", self.path, error) from None
        if (stat.st_dev, stat.st_ino) == self._identity and stat.st_size == self._offset:
            return []
        with self._opened(os.O_RDONLY) as file:
            return self._read(file)

    def append(self, lines: Sequence[bytes]) -> list[Line]:
        """Add lines, all of them or none.

        Args:
            lines: without the ends of the lines.

        Returns:
            The lines of others that were found before these, as `read_new` returns them.

        Raises:
            DatabaseError: if they cannot be written; the file is then as it was.
        """
        with self._opened(os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
            found = self._read(file)
            try:
                self._mend(file)
                self._write(file, lines)
            except OSError as error:
                raise _failure("write", self.path, error) from None
            self._offset = os.fstat(file).st_size
            self._lines += len(lines)
        return found

    @contextlib.contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        try:
            if flags & os.O_CREAT:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, flags | operating_system.OPEN_FLAGS, 0o666)
        except OSError as error:
            raise _failure("open", self.path, error) from None
        try:
            operating_system.lock(file, exclusive=bool(flags & os.O_RDWR))
            yield file
        except DatabaseError:
            raise
        except OSError as error:
            raise _failure("read", self.path, error) from None
        finally:
            os.close(file)  # which gives the lock back

    def _read(self, file: int) -> list[Line]:
        stat = os.fstat(file)
        identity = (stat.st_dev, stat.st_ino)
        if identity != self._identity or stat.st_size < self._offset:
            # Another file of that name: the state of the old one does not apply.
            self._start(identity)
        data = _read_from(file, self._offset, stat.st_size)
        *complete, tail = data.split(b"\n")
        found = [Line(self._lines + n, text) for n, text in enumerate(complete, 1) if text.strip()]
        self._offset += len(data) - len(tail)
        self._lines += len(complete)
        if _is_complete(tail):
            found.append(Line(self._lines + 1, tail))
            self._offset += len(tail)
        elif tail and self._torn_at != self._offset:
            found.append(Line(self._lines + 1, tail, is_torn=True))
            self._torn_at = self._offset
        return found

    def _start(self, identity: tuple[int, int] | None) -> None:
        if self._identity is not None:
            self.generation += 1
        self._identity, self._offset, self._lines, self._torn_at = identity, 0, 0, -1

    def _mend(self, file: int) -> None:
        """Remove a line that is torn; end one that lacks nothing but its end."""
        if os.fstat(file).st_size > self._offset:
            os.ftruncate(file, self._offset)
        if self._offset and operating_system.read_at(file, 1, self._offset - 1) != b"\n":
            _write_all(file, b"\n")
            self._lines += 1

    def _write(self, file: int, lines: Sequence[bytes]) -> None:
        start = os.fstat(file).st_size
        try:
            for line in lines:
                _write_all(file, line + b"\n")
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, start)
            raise


def _is_complete(text: bytes) -> bool:
    """Whether a line without an end is complete: a torn object or list of JSON is not JSON."""
    if not text.startswith((b"{", b"[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _read_from(file: int, start: int, end: int) -> bytes:
    parts: list[bytes] = []
    while start < end:
        part = operating_system.read_at(file, min(end - start, 1 << 26), start)
        if not part:
            break
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _write_all(file: int, data: bytes) -> None:
    # A disk that is nearly full takes a part.
    while data:
        data = data[os.write(file, data) :]


def _failure(action: str, path: Path, error: OSError) -> DatabaseError:
    return DatabaseError(f"cannot {action} {path}: {error.strerror or error}")
