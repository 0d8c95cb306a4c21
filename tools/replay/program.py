"""What is replayed: programs, targets, and the texts of the stages of a compilation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

Texts: TypeAlias = dict[str, str]
"""The texts of a compilation by the names in `STAGES`."""

STAGES: Final = {
    "error.txt": "error",
    "warnings.txt": "warnings",
    "trace.py": "trace",
    "graph.py": "graph after passes",
    "schedule.py": "schedule",
    "lowered.py": "lowered",
    "functions.py": "graph functions",
    "code.ll": "LLVM IR",
    "code.c": "C",
}
"""The stages of a compilation by the file with the text; what comes first explains the rest."""

TARGETS: Final = {
    "avx2": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3 -num-cores=2",
    "avx512": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=icelake-server -num-cores=1",
    "aarch64": "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -num-cores=4",
    "c": "c",
}
"""The machines, by the names in tables."""

X86: Final = ("avx2", "avx512")
VECTORS: Final = ("avx2", "avx512", "aarch64")
ALL: Final = tuple(TARGETS)


@dataclass(frozen=True)
class Program:
    """A program of the collection.

    Programs use nothing but the public interface, so that they run with other versions of the
    package, too.

    Attributes:
        name: unique: a family, a slash, and what it is.
        record: makes and compiles it for a `Target`, and puts the texts of the stages into a
            dictionary as far as it comes; it may raise.
        targets: names of `TARGETS`.
    """

    name: str
    record: Callable[[object, Texts], None]
    targets: tuple[str, ...] = ALL
