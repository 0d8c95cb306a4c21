"""Make ``launcher.ll`` of the launcher's C sources, by the C compiler of the package ``ziglang``.

LLVM IR is what modules are linked with, in a process and in libraries, on machines without a C
compiler. The sources use no header of a machine, so that one text is for all 64-bit ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1] / "src" / "tilewright"
SOURCE: Final = PACKAGE / "target" / "launcher" / "launcher.c"
OUTPUT: Final = SOURCE.with_suffix(".ll")
OPTIONS: Final = (
    "-target", "x86_64-linux-gnu", "-S", "-emit-llvm", "-Os", "-ffreestanding", "-g0",
    "-fno-strict-aliasing", "-fno-stack-protector", "-fno-sanitize=all", "-Wall", "-Wextra",
    "-Wno-unused-command-line-argument", "-Werror",
)  # fmt: skip

_ATTRIBUTES: Final = (
    r"noundef|nonnull|returned|readonly|readnone|writeonly|writable|nofree|noalias|signext|zeroext"
    r"|immarg|local_unnamed_addr|dso_local|nocallback|nosync|dead_on_return"
    r"|(?:captures|initializes|range|dead_on_unwind|dereferenceable(?:_or_null)?)"
    r"\((?:[^()]|\([^()]*\))*\)"
)
"""Attributes that only help to optimise, some of which older versions of LLVM do not know."""


def main() -> None:
    OUTPUT.write_text(launcher_ir())


def launcher_ir() -> str:
    """The launcher in LLVM IR."""
    include = PACKAGE / "runtime" / "include"
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory) / "launcher.ll"
        command = [sys.executable, "-m", "ziglang", "cc", *OPTIONS, f"-I{include}"]
        subprocess.run([*command, "-o", str(output), str(SOURCE)], check=True)
        return portable(output.read_text())


def portable(text: str) -> str:
    """LLVM IR without what is about one machine, one version of LLVM, or optimisation."""
    lines = [
        line
        for line in text.splitlines()
        if not re.match(r"; |source_filename|target |attributes #|!", line)
        and "@llvm.lifetime." not in line
    ]
    text = "\n".join(lines)
    text = re.sub(r", ![a-z.]+ !\d+", "", text)  # metadata of instructions
    text = re.sub(r" #\d+(?=[ \n])", "", text)
    text = re.sub(rf" (?:{_ATTRIBUTES})(?=[ ,)\n])", "", text)
    text = re.sub(r" +; preds = .*", "", text)
    text = re.sub(r"\n{2,}", "\n\n", text).strip()
    head = "; Made from launcher.c by `make launcher`: change that.\n\n"
    return f"{head}{text}\n"


if __name__ == "__main__":
    main()
