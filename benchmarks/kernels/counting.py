"""Counts of what a kernel does: from its tensor program, and from its machine code."""

from __future__ import annotations

import math
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import tilewright as tvm
from tilewright.driver.pipeline import for_backend
from tilewright.ir.expr import Call, IntImm, const_int_value
from tilewright.ir.module import IRModule
from tilewright.ir.node import Node
from tilewright.target.codegen.device.nvrtc import compile_kernels
from tilewright.tir.buffer import BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import AttrStmt, BufferStore, For
from tilewright.tir.transform.device.vector_accesses import CP_ASYNC

REGISTERS: Final = 0x2F
"""``EIATTR_REGCOUNT``, the attribute of a kernel in the section ``.nv.info``."""

INSTRUCTION: Final = re.compile(r"\*/\s+(?:@!?U?P\w+ )?([A-Z]\w*)")
MULTIPLY_ADD: Final = frozenset({"FFMA", "DFMA", "HFMA2"})

MULTIPROCESSOR: Final = {"threads": 2048, "registers": 1 << 16, "shared": 228 << 10, "blocks": 32}
"""What a multiprocessor of compute capability 9.0 has (CUDA C++ Programming Guide, table of
technical specifications)."""


@dataclass
class Counts:
    """What the kernels of a function cost.

    Attributes:
        kernels: number of kernels.
        blocks: number of blocks of threads of the first one.
        threads: number of threads of one of its blocks.
        global_bytes: bytes that all threads of all kernels load from and store to global memory,
            where no condition keeps them from it; caches may hold them.
        registers: of a thread of the first kernel.
        shared_bytes: of a block of the first kernel.
        per_multiply_add: number of instructions for each multiply-add in the innermost loop, as
            far as a disassembler is there.
    """

    kernels: int
    blocks: int
    threads: int
    global_bytes: int
    registers: int
    shared_bytes: int
    per_multiply_add: float | None

    @property
    def occupancy(self) -> float:
        """Part of the threads of a multiprocessor that may be there at once."""
        limits = [
            MULTIPROCESSOR["threads"] // self.threads,
            MULTIPROCESSOR["registers"] // (self.threads * -(-self.registers // 8) * 8),
            MULTIPROCESSOR["shared"] // max(self.shared_bytes, 1),
            MULTIPROCESSOR["blocks"],
        ]
        return min(limits) * self.threads / MULTIPROCESSOR["threads"]


def counts_of(func: PrimFunc, architecture: str, disassembler: str | None) -> Counts:
    """The counts of the default schedule of a function.

    Args:
        func: the function.
        architecture: such as ``"sm_90"``.
        disassembler: the path of ``nvdisasm``, if it is there.
    """
    target = tvm.target.Target(f"cuda -arch={architecture}")
    lowered = for_backend(IRModule({"main": func}), target)["main"]
    kernels = list(_outermost_axes(lowered.body))
    shapes = [_shape(kernel) for kernel in kernels]
    source = tvm.build(func, target).imported_modules[0].get_source()
    code = compile_kernels(source, architecture, "cubin")
    registers, shared = _resources(code)
    return Counts(
        len(kernels), *shapes[0], sum(map(_global_bytes, kernels)), registers, shared,
        None if disassembler is None else _instructions(code, disassembler),
    )  # fmt: skip


def _outermost_axes(node: Node) -> Iterator[AttrStmt]:
    if isinstance(node, AttrStmt) and node.attr_key == "thread_extent":
        yield node
        return
    for child in node.children():
        yield from _outermost_axes(child)


def _shape(kernel: Node) -> tuple[int, int]:
    """Number of blocks, and of threads of a block."""
    counts = {"blockIdx": 1, "threadIdx": 1}
    while isinstance(kernel, AttrStmt) and kernel.attr_key == "thread_extent":
        counts[kernel.node.thread_tag.split(".")[0]] *= kernel.value.value
        kernel = kernel.body
    return counts["blockIdx"], counts["threadIdx"]


def _global_bytes(node: Node) -> int:
    total = 0
    if isinstance(node, (BufferLoad, BufferStore)) and storage_scope(node.buffer.data) == "global":
        dtype = node.dtype if isinstance(node, BufferLoad) else node.value.dtype
        total = dtype.itemsize
    if isinstance(node, Call) and node.op is CP_ASYNC:
        total = const_int_value(node.args[4]) or 0
    total += sum(map(_global_bytes, node.children()))
    if isinstance(node, AttrStmt) and node.attr_key == "thread_extent":
        return total * node.value.value
    if isinstance(node, For) and isinstance(node.extent, IntImm):
        return total * node.extent.value
    return total


def _resources(code: bytes) -> tuple[int, int]:
    """Registers of a thread and bytes of shared memory of a block, of the first kernel."""
    (offset,) = struct.unpack_from("<Q", code, 0x28)
    size, count, names = struct.unpack_from("<HHH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, offset + n * size) for n in range(count)]
    strings = headers[names][4]
    registers = shared = 0
    for name, _, _, _, start, length, *_ in headers:
        text = code[strings + name : code.index(b"\0", strings + name)].decode()
        if text == ".nv.info":
            registers = next(_register_counts(code[start : start + length]))
        elif text.startswith(".nv.shared.") and not shared:
            shared = length
    return registers, shared


def _register_counts(section: bytes) -> Iterator[int]:
    place = 0
    while place < len(section):
        form, attribute, size = struct.unpack_from("<BBH", section, place)
        place += 4
        if form == 4:
            if attribute == REGISTERS:
                yield struct.unpack_from("<II", section, place)[1]
            place += size


def _instructions(code: bytes, disassembler: str) -> float | None:
    """Instructions for each multiply-add where most of these are next to each other."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernels.cubin")
        path.write_bytes(code)
        listing = subprocess.run(
            [disassembler, "-c", str(path)], capture_output=True, text=True, check=True
        ).stdout
    parts = [INSTRUCTION.findall(part) for part in re.split(r"^\.L_x_\d+:", listing, flags=re.M)]
    best = max(parts, key=lambda part: sum(name in MULTIPLY_ADD for name in part))
    count = sum(name in MULTIPLY_ADD for name in best)
    return len(best) / count if count else math.nan
