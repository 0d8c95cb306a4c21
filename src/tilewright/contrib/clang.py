"""LLVM IR of C and C++, which a pragma `import_llvm` brings into a program."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence

from tilewright.error import ExportError
from tilewright.runtime.linking import run


def find_clang(required: bool = True) -> list[str]:
    """The paths of the clangs on ``$PATH``, the plain name first.

    Raises:
        ExportError: if there is none, and it is required.
    """
    names = ["clang", *(f"clang-{version}" for version in range(30, 9, -1))]
    found = [path for name in names if (path := shutil.which(name))]
    if required and not found:
        raise ExportError("create_llvm: no clang found on $PATH; install it, or pass `cc`")
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """The LLVM IR of C or C++ files.

    Args:
        inputs: the path or the text of a file, or several.
        output: where to write the LLVM IR, too.
        options: more options for clang.
        cc: the path of a clang, by default the first on ``$PATH``.

    Raises:
        ExportError: if there is no clang, or it fails.
    """
    clang = cc or find_clang()[0]
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for text in [inputs] if isinstance(inputs, str) else inputs:
            path = text
            if not _is_path(text):
                path = os.path.join(directory, f"input{len(paths)}.cc")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            paths.append(path)
        target = output or os.path.join(directory, "output.ll")
        command = ["-O3", "-emit-llvm", "-S", *(options or ()), "-o", target, *paths]
        run([clang, *command])
        with open(target, encoding="utf-8") as file:
            return file.read()


def _is_path(text: str) -> bool:
    """Whether `text` is not a source."""
    return "\n" not in text and text.endswith((".c", ".cc", ".cpp", ".cxx"))
