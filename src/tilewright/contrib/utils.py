"""Directories for files that a program needs only while it runs."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref


class TempDirectory:
    """A directory that is removed with its files when nothing refers to this object any more.

    Attributes:
        temp_dir: the path of the directory.
    """

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool = False) -> None:
        if custom_path is not None:
            os.makedirs(custom_path, exist_ok=True)
        self.temp_dir = custom_path or tempfile.mkdtemp(prefix="tilewright-")
        self._end = weakref.finalize(self, shutil.rmtree, self.temp_dir, ignore_errors=True)
        if keep_for_debug:
            self._end.detach()

    @property
    def path(self) -> str:
        """The path of the directory."""
        return self.temp_dir

    def relpath(self, name: str) -> str:
        """The path of the file `name` in the directory."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of the files in the directory."""
        return os.listdir(self.temp_dir)

    def remove(self) -> None:
        """Remove the directory now."""
        self._end()

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __truediv__(self, name: str) -> str:
        return self.relpath(name)


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A new directory for temporary files.

    Args:
        custom_path: where to make it; by default where the system has such files.
        keep_for_debug: whether to leave it behind.
    """
    return TempDirectory(custom_path, keep_for_debug)
