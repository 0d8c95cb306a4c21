"""The thread pool, which is written in LLVM IR (``threads.ll``).

``tilewright_parallel(body, closure, begin, end, cores)`` runs ``body(closure, from, to)`` on equal
parts of the range [begin, end), one per thread, and returns 0, or -1 if a part failed; the error of
the first that failed is then registered on the calling thread. Workers are started when first
needed and stay; they spin for some hundred microseconds after a loop, then sleep on a futex.

The parts are handed out by a ticket: the number of the loop in its upper half, the number of parts
that nobody has taken in the lower. The calling thread takes parts as well, until none is left, so a
loop never waits for a worker that has not started to run. After a failure the parts that are left
are skipped.

One loop runs at a time: a nested loop, and one that another thread starts meanwhile, runs on its
own calling thread. The lock holds the number of the process, so that a process forked in the middle
of a loop is not locked out; a forked process starts workers of its own.

At most as many threads are used as the process may run on (``sched_getaffinity``), or as the
environment variable ``TILEWRIGHT_NUM_THREADS`` says, and at most `cores` unless that is 0.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final, NamedTuple

from tilewright.target.target import Target

POOL: Final = "tilewright_parallel"

SPINS: Final = 20000
"""Pauses before a thread sleeps, some hundred microseconds."""


class _Arch(NamedTuple):
    futex: int
    """Number of the system call."""
    pause: str
    """Instruction that saves power while spinning."""
    declaration: str


ARCHITECTURES: Final = {
    "x86_64": _Arch(202, "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": _Arch(
        98, "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    ),
    "riscv64": _Arch(98, 'fence syncscope("singlethread") acquire', ""),
}
"""Linux on these has the pool."""


def has_pool(target: Target) -> bool:
    """Whether there is a thread pool for the target."""
    return target.architecture in ARCHITECTURES and "linux" in target.triple


@functools.cache
def pool_text(architecture: str) -> str:
    """The module that defines the pool, with which a program is linked."""
    facts = ARCHITECTURES[architecture]
    text = Path(__file__).with_name("threads.ll").read_text()
    for name, value in (("FUTEX", facts.futex), ("PAUSE", facts.pause), ("SPINS", SPINS)):
        text = text.replace(f"${name}", str(value))
    return text + facts.declaration + "\n"
