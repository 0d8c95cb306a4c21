"""Constants outside of the code, which programs look up by `tir.lookup_param`.

In a process they stay where they are, and code has their addresses. In a library they are an object
file of their own, which is written here, byte by byte: an assembler would need minutes for the
weights of a model.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final, NamedTuple

from tilewright.error import ExportError

ALIGNMENT: Final = 64
"""Alignment of each constant in bytes."""


class Param(NamedTuple):
    """A constant.

    Attributes:
        address: of its first byte in this process.
        size: in bytes.
        owner: keeps it alive.
    """

    address: int
    size: int
    owner: object


_ELF_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_HIDDEN: Final = 2
_GLOBAL_OBJECT: Final = 1 << 4 | 1
_PROGBITS, _SYMTAB, _STRTAB, _ALLOCATED = 1, 2, 3, 2
_X86_64: Final = 62

_LARGE: Final = 1 << 30
"""Bytes above which constants are no longer put between code and variables.

The instructions of x86-64 reach 2 GiB. Its linkers put large sections behind all others (System V
ABI of x86-64, 4.2.1); code finds the constants through a table with whole addresses anyway.
"""


def write_params(stream: BinaryIO, params: Mapping[str, Param], code: bytes) -> None:
    """Write an object file that defines `params`, for the machine that `code` is for.

    Args:
        stream: where to write.
        params: the constants by symbol; other libraries do not see the symbols.
        code: the object file of the program.

    Raises:
        ExportError: for object files that are not in ELF's 64-bit little-endian form.
    """
    if code[:6] != b"\x7fELF\x02\x01":
        raise ExportError(
            "constants can be exported for targets with 64-bit little-endian ELF files only; pass "
            "them as parameters instead"
        )
    machine, flags = struct.unpack_from("<H", code, 18)[0], struct.unpack_from("<I", code, 48)[0]
    names = b"\0" + b"".join(name.encode() + b"\0" for name in params)
    total = sum(_aligned(param.size) for param in params.values())
    is_large = machine == _X86_64 and total > _LARGE
    section, large = (b".lrodata", 1 << 28) if is_large else (b".rodata", 0)
    section_names = b"\0.symtab\0.strtab\0.note.GNU-stack\0" + section + b"\0"
    symbols, position, name_at = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)], 0, 1
    for name, param in params.items():
        symbol = _SYMBOL.pack(name_at, _GLOBAL_OBJECT, _HIDDEN, 1, position, param.size)
        symbols.append(symbol)
        name_at += len(name.encode()) + 1
        position = _aligned(position + param.size)
    start = ALIGNMENT
    tables = start + position
    table = b"".join(symbols)
    strings = tables + len(table)
    section_strings = strings + len(names)
    headers = _aligned(section_strings + len(section_names))
    sections = (
        (0, 0, 0, 0, 0, 0, 0, 0),
        (33, _PROGBITS, _ALLOCATED | large, start, position, 0, 0, ALIGNMENT),
        (1, _SYMTAB, 0, tables, len(table), 3, 1, 8),
        (9, _STRTAB, 0, strings, len(names), 0, 0, 1),
        (9, _STRTAB, 0, section_strings, len(section_names), 0, 0, 1),
        (17, _PROGBITS, 0, headers, 0, 0, 0, 1),
    )
    identity = code[:16]
    stream.write(
        _ELF_HEADER.pack(
            identity, 1, machine, 1, 0, 0, headers, flags, 64, 0, 0, 64, len(sections), 4
        )
    )
    for param in params.values():
        stream.write(memoryview((ctypes.c_char * param.size).from_address(param.address)))
        stream.write(bytes(_aligned(param.size) - param.size))
    stream.write(table + names + section_names)
    stream.write(bytes(headers - section_strings - len(section_names)))
    for name, kind, attributes, offset, size, link, info, alignment in sections:
        entry = _SYMBOL.size if kind == _SYMTAB else 0
        stream.write(
            _SECTION.pack(name, kind, attributes, 0, offset, size, link, info, alignment, entry)
        )


def write_objects(directory: str, codes: Sequence[bytes], params: Mapping[str, Param]) -> list[str]:
    """Write object files of code, and one of constants if there are some; their paths."""
    paths = [os.path.join(directory, f"lib{number}.o") for number in range(len(codes))]
    for path, code in zip(paths, codes, strict=True):
        with open(path, "wb") as stream:
            stream.write(code)
    if params:
        paths.append(os.path.join(directory, "params.o"))
        with open(paths[-1], "wb") as stream:
            write_params(stream, params, codes[0])
    return paths


def refuse_params(params: Mapping[str, Param]) -> None:
    """Raise if there are constants, which one object file of the code cannot hold."""
    if params:
        raise ExportError(
            "the program has constants, which are an object file of their own: export a .so, or a "
            ".tar of object files"
        )


def _aligned(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
