"""Object files and assembly for machines other than this one."""

import shutil
import struct
import subprocess
import sys

import pytest
from tests.target.emulator import Emulator
from tests.target.llvm.programs import compiled, elementwise
from tests.target.llvm.test_parallel import scaled_copy

from tilewright import tir
from tilewright.error import TargetError
from tilewright.ir import DType
from tilewright.target import Target
from tilewright.tir import op

AARCH64 = Target("llvm -mtriple=aarch64-linux-gnu")
RISCV64 = Target("riscv/rv64gcv")
PLAIN_RISCV64 = Target("llvm -mtriple=riscv64-linux-gnu -mattr=+m,+a,+f,+d,+c -mabi=lp64d")
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of ELF."""


def elf_machine(data):
    assert data[:4] == b"\x7fELF"
    return MACHINES[struct.unpack_from("<H", data, 18)[0]]


def elf_symbols(data):
    """Names of the symbols of a 64-bit ELF file, and whether each is defined here."""
    (offset,) = struct.unpack_from("<Q", data, 40)
    entry, count, _ = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + entry * i) for i in range(count)]
    found = {}
    for section in sections:
        if section[1] != 2:  # SHT_SYMTAB
            continue
        names = sections[section[6]][4]
        for position in range(section[4], section[4] + section[5], 24):
            name, _, _, index = struct.unpack_from("<IBBH", data, position)
            end = data.index(b"\0", names + name)
            found[data[names + name : end].decode()] = index != 0
    return found


def sums():
    return elementwise(lambda a, b: a * b + op.sqrt(a), 64, "float32", "float32", lanes=4)


@pytest.mark.parametrize(
    ("target", "machine"),
    [
        (Target("llvm -mtriple=x86_64-linux-gnu"), "x86_64"),
        (AARCH64, "aarch64"), (RISCV64, "riscv64"),
        (PLAIN_RISCV64, "riscv64"),
        (Target("raspberry-pi/4b-aarch64"), "aarch64"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("program", [sums, scaled_copy])
def test_object_files(target, machine, program):
    data = compiled(program(), target).object_code()
    assert elf_machine(data) == machine
    symbols = elf_symbols(data)
    assert symbols["f"]
    libc = {
        "getpid", "getenv", "strtol", "sched_getaffinity", "syscall", "pthread_create",
        "pthread_detach", "pthread_sigmask", "memset", "sched_yield", "clock_gettime", "fopen",
        "fscanf", "fclose", "dladdr", "dlopen", "sched_getcpu", "sched_setaffinity", "memcpy",
    }  # fmt: skip
    missing = {name for name, defined in symbols.items() if not defined and name}
    assert {name for name in missing if not name.startswith("TVMFFI")} <= libc


def test_assembly_uses_the_vectors_of_the_machine():
    assert "fmla\tv" in compiled(fused(), AARCH64).assembly
    assert "vfm" in compiled(fused(), RISCV64).assembly


def fused():
    return elementwise(lambda a, b: op.fma(a, b, a), 64, "float32", "float32", lanes=4)


@pytest.mark.parametrize("target", [AARCH64, RISCV64])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "bool", "int8", "uint64"])
def test_all_dtypes_need_no_compiler_library(target, dtype):
    """Conversions of halves are instructions, not calls of functions that libc does not have."""

    def compute(a):
        wide = tir.Cast(DType("float32").with_lanes(a.dtype.lanes), a)
        return tir.Cast(a.dtype, wide + wide)

    symbols = elf_symbols(compiled(elementwise(compute, 64, dtype, lanes=4), target).object_code())
    assert [name for name, defined in symbols.items() if not defined and name] == []


def test_code_for_other_machines_does_not_run_here():
    with pytest.raises(TargetError, match="aarch64"):
        compiled(sums(), AARCH64).function_address("f")


def test_unknown_triples():
    with pytest.raises(TargetError, match="nonsense"):
        compiled(sums(), Target("llvm -mtriple=nonsense-unknown")).object_code()


PROGRAM = """
int f(float *a, float *b, float *c);
void _start(void);
static float a[64], b[64], c[64];
static void leave(long code) { %s }
void _start(void) {
  for (int i = 0; i < 64; i++) { a[i] = i; b[i] = 2; }
  int status = f(a, b, c);
  for (int i = 0; i < 64; i++) if (c[i] != 3 * i) status = 1;
  leave(status);
}
"""
EXIT = {
    "aarch64": 'register long x0 __asm__("x0") = code; register long x8 __asm__("x8") = 93; '
    '__asm__ volatile("svc 0" : : "r"(x0), "r"(x8));',
    "riscv64": 'register long a0 __asm__("a0") = code; register long a7 __asm__("a7") = 93; '
    '__asm__ volatile("ecall" : : "r"(a0), "r"(a7));',
}


PROGRAMS = {
    "vectors": lambda: elementwise(
        lambda a, b: op.fma(a, b, a), 64, "float32", "float32", lanes=4
    ),
    "scalars": lambda: elementwise(lambda a, b: a * b + a, 64, "float32", "float32"),
    "halves": lambda: elementwise(
        lambda a, b: tir.Cast(a.dtype, tir.Cast(half(a), a) * tir.Cast(half(a), b)) + a,
        64, "float32", "float32", lanes=4,
    ),
}  # fmt: skip


def half(a):
    return DType("float16").with_lanes(a.dtype.lanes)


@pytest.mark.parametrize(
    ("target", "machine"), [(AARCH64, "aarch64"), (PLAIN_RISCV64, "riscv64"), (RISCV64, "riscv64")]
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_code_runs_in_an_emulator(tmp_path, target, machine, program):
    (tmp_path / "f.o").write_bytes(compiled(PROGRAMS[program](), target).object_code())
    (tmp_path / "main.c").write_text(PROGRAM % EXIT[machine])
    command = [
        sys.executable, "-m", "ziglang", "cc", f"--target={machine}-linux-musl", "-nostdlib",
        "-static", "-O1", "main.c", "f.o", "-o", "main",
    ]  # fmt: skip
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    if "v" in target.features:
        assert status_in_qemu(tmp_path / "main") == 0
    else:
        assert Emulator((tmp_path / "main").read_bytes(), machine).run() == 0


def status_in_qemu(program):
    """Vectors of RISC-V are what the other emulator does not have."""
    emulator = shutil.which("qemu-riscv64") or shutil.which("qemu-riscv64-static")
    if emulator is None:
        pytest.skip("there is no qemu-riscv64 on PATH")
    command = [emulator, "-cpu", "rv64,v=true,vext_spec=v1.0", program]
    return subprocess.run(command, check=False, timeout=60).returncode


def test_programs_for_riscv_link_with_those_of_the_system():
    """Objects say in their flags how floating-point numbers are passed, as Linux has it."""
    data = compiled(sums(), Target("llvm -mtriple=riscv64-linux-gnu")).object_code()
    (flags,) = struct.unpack_from("<I", data, 48)
    assert flags & 6 == 4  # EF_RISCV_FLOAT_ABI_DOUBLE
    soft = Target("llvm -mtriple=riscv64-linux-gnu -mattr=-d,-f")
    (flags,) = struct.unpack_from("<I", compiled(sums(), soft).object_code(), 48)
    assert flags & 6 == 0
