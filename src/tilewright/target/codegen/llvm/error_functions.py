"""The functions that raise errors, in LLVM IR: compiled code calls them and returns their status.

Those that argument checks need are the same for every program, so they are a module of their own
(see `support`), which is compiled once for a process.
"""

from __future__ import annotations

from typing import Final

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
