"""The thread pool, which is written in LLVM IR (``thread_*.ll``).

``tilewright_parallel(body, closure, begin, end, least, fine, cores, dynamic)`` runs
``body(closure, from, to)`` on parts of the range [begin, end) and returns 0, or -1 if a part
failed; the error of the first that failed is then registered on the calling thread. After a failure
the parts that are left are skipped.

* As many threads are used as there are `least` iterations for each. A static loop has the same
  number of parts for each thread, of the same size: 1 to 8, of at least `fine` iterations if more
  than 1. No part is for nothing: 5 iterations take 2 of 4 threads' time whether 3 threads run them
  or 4. A dynamic loop has parts of `least` iterations.
* Which parts are left is said by a ticket, which also holds the number of the loop. The calling
  thread takes parts as well, until none is left, so a loop never waits for a worker that has not
  started to run. Up to 32 parts of a static loop belong to a thread each, which takes its own first
  and so finds in its cache what it has left there; who has done its own takes those of a thread
  that is late, because it has a slower core or one that others want, too. More parts are taken in
  order.
* One loop runs at a time: a nested loop, and one that another thread starts meanwhile, runs on its
  own calling thread. The lock holds the number of the process, so that a process forked in the
  middle of a loop is not locked out; a forked process starts workers of its own.
* Workers are started when first needed and stay. Between loops they poll for `PATIENCE`, then sleep
  on a futex, each in a group of its own, so that a loop wakes those that it needs. Who polls lets
  other threads have the processor every `PAUSES` pauses.
* A worker that finds itself on the processor of the calling thread moves to another one.
* A library that is exported has a pool of its own, and stays loaded once its workers run.

At most ``tilewright_num_threads()`` threads are used, and at most `cores` unless that is 0. The
number is the one given to ``tilewright_set_num_threads``, or else that of the environment variable
``TILEWRIGHT_NUM_THREADS`` (1 to 1024), or else that of the processors which the process may run on
(``sched_getaffinity``) and has time for (`QUOTA_FILE`). It is asked once in each process.
"""

from __future__ import annotations

import functools
from pathlib import Path
from string import Template
from typing import Final, NamedTuple

from tilewright.target.cpu import QUOTA_FILE
from tilewright.target.target import Target

POOL: Final = "tilewright_parallel"
NUM_THREADS: Final = "tilewright_num_threads"
SET_NUM_THREADS: Final = "tilewright_set_num_threads"

MOST_THREADS: Final = 1024

PAUSES: Final = 64
PATIENCE: Final = 200_000
"""Nanoseconds: about the cost of sleeping and being woken."""


class _Arch(NamedTuple):
    futex: int
    """Number of the system call."""
    pause: str
    """Instruction that saves power while spinning."""
    declaration: str


ARCHITECTURES: Final = {
    "x86_64": _Arch(202, "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": _Arch(
        98, "call void @llvm.aarch64.isb(i32 15)", "declare void @llvm.aarch64.isb(i32)"
    ),
    "riscv64": _Arch(98, 'fence syncscope("singlethread") acquire', ""),
}
"""Architectures with a pool, on Linux."""


def has_pool(target: Target) -> bool:
    """Whether there is a thread pool for the target."""
    return target.architecture in ARCHITECTURES and "linux" in target.triple


@functools.cache
def pool_text(architecture: str, quota_file: str = QUOTA_FILE) -> str:
    """The module that defines the pool, with which a program is linked.

    `architecture` is one of `ARCHITECTURES`; the limits of the control group are read from
    `quota_file`.
    """
    facts = ARCHITECTURES[architecture]
    directory = Path(__file__).parent
    files = ("thread_count.ll", "thread_pool.ll", "thread_workers.ll")
    template = Template("\n".join((directory / name).read_text() for name in files))
    text = template.substitute(
        FUTEX=facts.futex,
        PAUSE=facts.pause,
        PAUSES=PAUSES,
        PATIENCE=PATIENCE,
        QUOTA_FILE=quota_file,
        QUOTA_SIZE=len(quota_file.encode()) + 1,
    )
    return text + facts.declaration + "\n"
