"""Runs Linux programs for other processors: an emulator, and the few system calls they need."""

import struct

import unicorn
from unicorn import arm64_const, riscv_const

PAGE = 4096
STACK, STACK_SIZE = 0x7F0000000000, 1 << 20
HEAP, HEAP_SIZE = 0x600000000000, 1 << 26
FPU_OF_RISCV = 0x6000
"""The bits of mstatus that turn floating-point instructions on."""


class _Processor:
    """An emulated processor, and its registers for system calls."""

    def __init__(self, machine: str) -> None:
        if machine == "aarch64":
            self.engine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
            self.engine.ctl_set_cpu_model(arm64_const.UC_CPU_ARM64_MAX)
            self.engine.reg_write(arm64_const.UC_ARM64_REG_CPACR_EL1, 3 << 20)
            self.stack, self.number = arm64_const.UC_ARM64_REG_SP, arm64_const.UC_ARM64_REG_X8
            self.arguments = [getattr(arm64_const, f"UC_ARM64_REG_X{i}") for i in range(6)]
        else:
            self.engine = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
            status = self.engine.reg_read(riscv_const.UC_RISCV_REG_MSTATUS)
            self.engine.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, status | FPU_OF_RISCV)
            self.stack, self.number = riscv_const.UC_RISCV_REG_SP, riscv_const.UC_RISCV_REG_A7
            self.arguments = [getattr(riscv_const, f"UC_RISCV_REG_A{i}") for i in range(6)]


class Emulator:
    """A process of a statically linked 64-bit ELF program.

    Attributes:
        output: what it has written to standard output and standard error.
        status: how it ended; None if it has not ended by itself.
    """

    def __init__(self, program: bytes, machine: str) -> None:
        self.output = b""
        self.status: int | None = None
        self._processor = _Processor(machine)
        self._engine = self._processor.engine
        self._free = HEAP
        self._load(program)
        self._engine.mem_map(HEAP, HEAP_SIZE)
        self._engine.mem_map(STACK, STACK_SIZE)
        self._push_arguments(program)
        self._engine.hook_add(unicorn.UC_HOOK_INTR, self._interrupt)

    def run(self, seconds: float = 60) -> int | None:
        """Run until the program ends; its status, None if it did not end in time."""
        (entry,) = struct.unpack_from("<Q", self._program, 24)
        try:
            self._engine.emu_start(entry, 0, timeout=int(seconds * 1e6))
        except unicorn.UcError as error:
            if self.status is None:
                raise RuntimeError(f"the program failed: {error}; {self.output!r}") from None
        return self.status

    # --- the process --------------------------------------------------------------------------

    def _load(self, program: bytes) -> None:
        self._program = program
        pages: set[int] = set()
        for kind, offset, address, stored, size in _segments(program):
            if kind != 1:  # PT_LOAD
                continue
            for page in range(address // PAGE, (address + size - 1) // PAGE + 1):
                if page not in pages:
                    self._engine.mem_map(page * PAGE, PAGE)
                    pages.add(page)
            self._engine.mem_write(address, program[offset : offset + stored])

    def _push_arguments(self, program: bytes) -> None:
        (headers,) = struct.unpack_from("<Q", program, 32)
        entry_size, count = struct.unpack_from("<HH", program, 54)
        first = min(
            address - offset for kind, offset, address, *_ in _segments(program) if kind == 1
        )
        top = STACK + STACK_SIZE - PAGE
        self._engine.mem_write(top, b"program\0" + bytes(16))
        auxiliary = {3: first + headers, 4: entry_size, 5: count, 6: PAGE, 25: top + 8}
        words = [1, top, 0, 0, *(word for item in auxiliary.items() for word in item), 0, 0]
        stack = (top - 8 * len(words)) // 16 * 16
        self._engine.mem_write(stack, struct.pack(f"<{len(words)}Q", *words))
        self._engine.reg_write(self._processor.stack, stack)

    def _interrupt(self, engine: unicorn.Uc, number: int, _: object) -> None:
        del number
        registers = self._processor
        call = engine.reg_read(registers.number)
        arguments = [engine.reg_read(register) for register in registers.arguments]
        engine.reg_write(registers.arguments[0], self._system_call(call, arguments) % 2**64)

    def _system_call(self, number: int, arguments: list[int]) -> int:
        if number in (93, 94):  # exit, exit_group
            self.status = arguments[0] & 0xFF
            self._engine.emu_stop()
            return 0
        if number == 64:  # write
            self.output += self._engine.mem_read(arguments[1], arguments[2])
            return arguments[2]
        if number == 66:  # writev
            vectors = self._engine.mem_read(arguments[1], 16 * arguments[2])
            parts = list(struct.iter_unpack("<QQ", vectors))
            self.output += b"".join(bytes(self._engine.mem_read(*part)) for part in parts)
            return sum(size for _, size in parts)
        if number == 222:  # mmap
            address, self._free = self._free, self._free + -(-arguments[1] // PAGE) * PAGE
            return address if self._free <= HEAP + HEAP_SIZE else -12
        if number in (215, 226, 135):  # munmap, mprotect, rt_sigprocmask
            return 0
        if number in (96, 172, 178):  # set_tid_address, getpid, gettid
            return 1
        return -38  # there is no such system call


def _segments(program: bytes) -> list[tuple[int, int, int, int, int]]:
    """Kind, offset in the file, address, size in the file and size of each segment."""
    (headers,) = struct.unpack_from("<Q", program, 32)
    entry_size, count = struct.unpack_from("<HH", program, 54)
    found = []
    for index in range(count):
        header = struct.unpack_from("<IIQQQQQQ", program, headers + index * entry_size)
        kind, _, offset, address, _, stored, size, _ = header
        found.append((kind, offset, address, stored, size))
    return found
