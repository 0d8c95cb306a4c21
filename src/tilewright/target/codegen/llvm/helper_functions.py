"""Helper functions in LLVM IR that compiled code calls: errors, calls of the host, polls, threads.

Functions that raise errors return their status. Those that argument checks need are the same for
every program, so they are a module of their own (see `support`), which is compiled once for a
process.
"""

from __future__ import annotations

import functools
from pathlib import Path
from string import Template
from typing import Final, NamedTuple

from tilewright.target.codegen import AMX_REFUSED, NO_HOST, NOT_REGISTERED
from tilewright.target.cpu import ARCH_PRCTL, QUOTA_FILE, REQUEST_PERMISSION, TILE_DATA
from tilewright.target.target import Target

RAISE: Final = "tilewright_raise"
"""The function that raises an error with a given text."""

MESSAGE_SIZE: Final = 512
"""Maximum size of an error's text in bytes; longer texts are cut off."""

COLD: Final = "noinline cold optnone"
"""Attributes of functions that hardly ever run: they are compiled fast, without optimisation."""

SHARED: Final = "linkonce_odr hidden "
"""The linkage of functions of which several modules have equal definitions."""

SHARED_TYPES: Final = (
    ("i64",), ("i64", "i64"), ("i64", "i64", "i64"),
    ("ptr",), ("ptr", "i64"), ("ptr", "i64", "i64"), ("ptr", "ptr"),
    ("ptr", "i64", "i64", "i64"), ("ptr", "i64", "ptr", "i64"),
    ("ptr", "ptr", "ptr"), ("ptr", "ptr", "ptr", "i64"), ("ptr", "ptr", "ptr", "i64", "i64"),
    ("ptr", "ptr", "i64", "ptr", "ptr"), ("ptr", "ptr", "i64", "ptr", "i64"),
)  # fmt: skip
"""The types of values for which the support module has a function."""

DECLARATIONS: Final = (
    "declare extern_weak void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)",
    "declare i32 @dprintf(i32, ptr, ...)",
    "declare i32 @snprintf(ptr, i64, ptr, ...)",
)
"""Functions that they call; tvm-ffi's is weak, so the code also loads without a host."""

RAISE_TEXT: Final = f"""
@tilewright.error = private unnamed_addr constant [8 x i8] c"%s: %s\\0A\\00"
define {SHARED}i32 @{RAISE}(ptr %kind, ptr %message) {COLD} {{
entry:
  %hosted = icmp ne ptr @TVMFFIErrorSetRaisedFromCStr, null
  br i1 %hosted, label %host, label %plain
host:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %kind, ptr %message)
  ret i32 -1
plain:
  %n = call i32 (i32, ptr, ...) @dprintf(i32 2, ptr @tilewright.error, ptr %kind, ptr %message)
  ret i32 -1
}}"""
"""Hands an error to the host, or prints it if there is none."""


def error_function_name(types: tuple[str, ...]) -> str:
    """The name of the function for texts with values of such types."""
    return ".".join((RAISE, *types))


def error_function_text(types: tuple[str, ...], linkage: str) -> str:
    """The definition of that function.

    Its parameters are the kind and the text, a printf format, as strings, and the values. A call of
    a function keeps the code of checks short.
    """
    values = ", ".join(f"{ty} %v{number}" for number, ty in enumerate(types))
    name = error_function_name(types)
    return f"""
define {linkage}i32 @{name}(ptr %kind, ptr %format, {values}) {COLD} {{
  %text = alloca [{MESSAGE_SIZE} x i8]
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text, i64 {MESSAGE_SIZE}, ptr %format, {values})
  %status = call i32 @{RAISE}(ptr %kind, ptr %text)
  ret i32 %status
}}"""


# --- calls of the host ----------------------------------------------------------------------------

FFI_FUNCTIONS = {
    "TVMFFIErrorSetRaisedFromCStr": "void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)",
    "TVMFFIFunctionGetGlobal": "i32 @TVMFFIFunctionGetGlobal(ptr, ptr)",
    "TVMFFIFunctionCall": "i32 @TVMFFIFunctionCall(ptr, ptr, i32, ptr)",
    "TVMFFIObjectDecRef": "i32 @TVMFFIObjectDecRef(ptr)",
    "TVMFFIEnvCheckSignals": "i32 @TVMFFIEnvCheckSignals()",
    "TVMFFITensorFromDLPackVersioned": ("i32 @TVMFFITensorFromDLPackVersioned(ptr, i32, i32, ptr)"),
}
"""Functions of a tvm-ffi host; they are weak, so the code also loads where there is no host."""

CALL_PACKED = (
    """
@tilewright.key_error = private unnamed_addr constant [9 x i8] c"KeyError\\00"
@tilewright.host_error = private unnamed_addr constant [13 x i8] c"RuntimeError\\00"
@tilewright.absent = private unnamed_addr constant [%(absent)d x i8] c"%(absent_text)s\\00"
@tilewright.alone = private unnamed_addr constant [%(alone)d x i8] c"%(alone_text)s\\00"
define internal i32 @tilewright_call_packed(ptr %%name, i64 %%length, ptr %%caller, ptr %%args, \
i32 %%count, ptr %%result, i32 %%keeps) noinline {
entry:
  %%key = alloca [2 x i64]
  %%slot = alloca ptr
  store ptr null, ptr %%slot
  store ptr %%name, ptr %%key
  %%size = getelementptr i64, ptr %%key, i64 1
  store i64 %%length, ptr %%size
  %%hosted = icmp ne ptr @TVMFFIFunctionGetGlobal, null
  br i1 %%hosted, label %%lookup, label %%plain
lookup:
  %%code = call i32 @TVMFFIFunctionGetGlobal(ptr %%key, ptr %%slot)
  %%function = load ptr, ptr %%slot
  %%absent = icmp eq ptr %%function, null
  br i1 %%absent, label %%missing, label %%found
found:
  %%status = call i32 @TVMFFIFunctionCall(ptr %%function, ptr %%args, i32 %%count, ptr %%result)
  %%released = call i32 @TVMFFIObjectDecRef(ptr %%function)
  %%index = load i32, ptr %%result
  %%is_object = icmp sge i32 %%index, 64
  %%succeeded = icmp eq i32 %%status, 0
  %%given = and i1 %%is_object, %%succeeded
  %%unwanted = icmp eq i32 %%keeps, 0
  %%dropped = and i1 %%given, %%unwanted
  br i1 %%dropped, label %%release, label %%done
release:
  %%value = getelementptr i8, ptr %%result, i64 8
  %%object = load ptr, ptr %%value
  %%ignored = call i32 @TVMFFIObjectDecRef(ptr %%object)
  store ptr null, ptr %%value
  br label %%done
done:
  ret i32 %%status
missing:
  %%failed = call i32 @tilewright_raise.ptr.ptr.ptr(ptr @tilewright.key_error, \
ptr @tilewright.absent, ptr %%caller, ptr %%name, ptr %%name)
  ret i32 -1
plain:
  %%lonely = call i32 @tilewright_raise.ptr.ptr(ptr @tilewright.host_error, \
ptr @tilewright.alone, ptr %%caller, ptr %%name)
  ret i32 -1
}""".replace("\\\n", "")
    % {
        "absent": len(NOT_REGISTERED) + 1,
        "absent_text": NOT_REGISTERED,
        "alone": len(NO_HOST) + 1,
        "alone_text": NO_HOST,
    }
)
"""Looks up a registered function by name and calls it."""

# --- polls for interrupts -------------------------------------------------------------------------

PAUSE: Final = 50_000_000
"""Minimum of nanoseconds between two questions to Python."""

CLOCK: Final = 6
"""Linux's CLOCK_MONOTONIC_COARSE, which takes a few nanoseconds to read and is up to 4 ms late."""

POLL: Final = "tilewright_poll"
"""``i32 tilewright_poll()``: 0, or -1 if the call has to end; an error is set then."""

POLL_TEXT: Final = f"""
declare extern_weak i32 @TVMFFIEnvCheckSignals()
declare extern_weak void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare i32 @clock_gettime(i32, ptr)
@tilewright.poll.kind = private unnamed_addr constant [19 x i8] c"EnvErrorAlreadySet\\00"
@tilewright.poll.last = internal global i64 0, align 8
define {SHARED}i32 @{POLL}() noinline nounwind {{
entry:
  %time = alloca [2 x i64], align 8
  %hosted = icmp ne ptr @TVMFFIEnvCheckSignals, null
  br i1 %hosted, label %look, label %go_on
look:
  %failed = call i32 @clock_gettime(i32 {CLOCK}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %fraction_slot = getelementptr i64, ptr %time, i64 1
  %fraction = load i64, ptr %fraction_slot, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %fraction
  %last = load atomic i64, ptr @tilewright.poll.last monotonic, align 8
  %elapsed = sub i64 %now, %last
  %due = icmp sgt i64 %elapsed, {PAUSE}
  br i1 %due, label %ask, label %go_on
ask:
  store atomic i64 %now, ptr @tilewright.poll.last monotonic, align 8
  %status = call i32 @TVMFFIEnvCheckSignals()
  %came = icmp ne i32 %status, 0
  br i1 %came, label %leave, label %go_on
leave:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @tilewright.poll.kind, ptr getelementptr (i8, ptr \
@tilewright.poll.kind, i64 18))
  ret i32 -1
go_on:
  ret i32 0
}}"""


# --- tile registers ------------------------------------------------------------------------------

PERMIT_TILES: Final = "tilewright_permit_tiles"
"""``i32 tilewright_permit_tiles()``: 0, or -1 with an error if Linux refuses tile registers."""

PERMIT_TILES_TEXT: Final = f"""
@tilewright.tiles = internal global i32 0, align 4
@tilewright.tiles.kind = private unnamed_addr constant [13 x i8] c"RuntimeError\\00"
@tilewright.tiles.text = private unnamed_addr constant [{len(AMX_REFUSED) + 1} x i8] \
c"{AMX_REFUSED}\\00"
declare i64 @syscall(i64, ...)
define internal i32 @{PERMIT_TILES}() noinline nounwind {{
entry:
  %known = load atomic i32, ptr @tilewright.tiles monotonic, align 4
  %permitted = icmp ne i32 %known, 0
  br i1 %permitted, label %go_on, label %ask
ask:
  %status = call i64 (i64, ...) @syscall(i64 {ARCH_PRCTL}, i64 {REQUEST_PERMISSION}, \
i64 {TILE_DATA})
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %refused, label %granted
granted:
  store atomic i32 1, ptr @tilewright.tiles monotonic, align 4
  br label %go_on
refused:
  %error = call i32 @{RAISE}(ptr @tilewright.tiles.kind, ptr @tilewright.tiles.text)
  ret i32 %error
go_on:
  ret i32 0
}}"""


# --- the thread pool ------------------------------------------------------------------------------

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
    """The module that defines the pool (``thread_*.ll``), with which a program is linked.

    ``tilewright_parallel(body, closure, begin, end, least, fine, cores, dynamic)`` runs
    ``body(closure, from, to)`` on parts of the range [begin, end) and returns 0, or -1 if a part
    failed; the error of the first that failed is then registered on the calling thread. After a
    failure the parts that are left are skipped.

    * As many threads are used as there are `least` iterations for each. A static loop has the same
      number of iterations for each thread, or one more: in 1 to 16 parts, of about `fine` or more
      iterations if more than 1. No part is for nothing: 5 iterations take 2 of 4 threads' time
      whether 3 threads run them or 4. A dynamic loop has parts of `least` iterations.
    * Which parts are left is said by a ticket, which also holds the number of the loop. The calling
      thread takes parts as well, until none is left, so a loop never waits for a worker that has
      not started to run. Up to 32 parts of a static loop belong to a thread each, which takes its
      own first and so finds in its cache what it has left there; who has done its own takes those
      of a thread that is late, because it has a slower core or one that others want, too. More
      parts are taken in order.
    * One loop runs at a time: a nested loop, and one that another thread starts meanwhile, runs on
      its own calling thread. The lock holds the number of the process, so that a process forked in
      the middle of a loop is not locked out; a forked process starts workers of its own.
    * Workers are started when first needed and stay. Between loops they poll for `PATIENCE`, then
      sleep on a futex, each in a group of its own, so that a loop wakes those that it needs. Who
      polls lets other threads have the processor every `PAUSES` pauses.
    * A worker that finds itself on the processor of the calling thread moves to another one.
    * A library that is exported has a pool of its own, and stays loaded once its workers run.

    At most ``tilewright_num_threads()`` threads are used, and at most `cores` unless that is 0. The
    number is the one given to ``tilewright_set_num_threads``, or else that of the environment
    variable ``TILEWRIGHT_NUM_THREADS`` (1 to 1024), or else that of the processors which the
    process may run on (``sched_getaffinity``) and has time for (`QUOTA_FILE`). It is asked once in
    each process.

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
