"""Helper functions in LLVM IR that compiled code calls: errors, calls of the host, polls.

Functions that raise errors return their status. Those that argument checks need are the same for
every program, so they are a module of their own (see `support`), which is compiled once for a
process.
"""

from __future__ import annotations

from typing import Final

from tilewright.target.codegen import NO_HOST, NOT_REGISTERED

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
    ("ptr", "ptr", "ptr"), ("ptr", "ptr", "ptr", "i64"), ("ptr", "ptr", "ptr", "i64", "i64"),
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
@tilewright.poll.kind = private unnamed_addr constant [19 x i8] c"EnvErrorAlreadySet\\00"
@tilewright.poll.last = internal global i64 0, align 8
define internal i32 @{POLL}() noinline nounwind {{
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
