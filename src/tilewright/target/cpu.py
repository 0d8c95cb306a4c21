"""Facts about CPUs: the one that this process runs on, and those that a target names."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple


class Host(NamedTuple):
    """The CPU of this machine, in LLVM's terms.

    Attributes:
        triple: architecture and system.
        cpu: name of the processor.
        features: instruction set extensions that it has.
        missing: extensions that it lacks. A virtual machine may lack some that every processor
            of the name has.
    """

    triple: str
    cpu: str
    features: frozenset[str]
    missing: frozenset[str]


@functools.cache
def host() -> Host:
    """What this process runs on."""
    import llvmlite.binding as llvm

    features = dict(llvm.get_host_cpu_features())
    if features.get("amx-tile") and not may_use_tiles():
        features.update((name, False) for name in features if name.startswith("amx-"))
    return Host(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        frozenset(name for name, present in features.items() if present),
        frozenset(name for name, present in features.items() if not present),
    )


ARCH_PRCTL: Final = 158
REQUEST_PERMISSION: Final = 0x1023
TILE_DATA: Final = 18
"""The system call by which a process asks Linux for tile registers: its number, and arguments."""


def may_use_tiles() -> bool:
    """Whether the system lets this process use tile registers, if the processor has them.

    Linux wants to be asked first, once for all threads of a process. So does the code that uses
    them: it may be in a process without this function.
    """
    if platform.system() != "Linux":
        return True
    library = ctypes.CDLL(None, use_errno=True)
    return library.syscall(ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA) == 0


AVX512: Final = re.compile(
    r"x86-64-v4|skx|skylake-avx512|cascadelake|cooperlake|cannonlake|icelake.*|tigerlake|"
    r"rocketlake|sapphirerapids|emeraldrapids|graniterapids.*|diamondrapids|knl|knm|"
    r"znver[4-9]|amdavx512"
)
AVX2: Final = re.compile(
    r"x86-64-v3|haswell|broadwell|skylake|alderlake|raptorlake|meteorlake|arrowlake.*|lunarlake|"
    r"pantherlake|sierraforest|grandridge|gracemont|znver[123]|bdver4|core-avx2"
)
AVX: Final = re.compile(r"sandybridge|ivybridge|bdver[123]|btver2|corei7-avx|core-avx-i")


AVX512_VNNI: Final = re.compile(
    r"cascadelake|cooperlake|icelake.*|tigerlake|rocketlake|sapphirerapids|emeraldrapids|"
    r"graniterapids.*|diamondrapids|znver[4-9]"
)
AVX_VNNI: Final = re.compile(
    r"alderlake|raptorlake|meteorlake|arrowlake.*|lunarlake|pantherlake|sierraforest|grandridge|"
    r"gracemont|sapphirerapids|emeraldrapids|graniterapids.*|diamondrapids|znver[5-9]"
)
AVX_VNNI_INT8: Final = re.compile(
    r"arrowlake-s|lunarlake|pantherlake|sierraforest|grandridge|diamondrapids"
)
AVX512_BF16: Final = re.compile(
    r"cooperlake|sapphirerapids|emeraldrapids|graniterapids.*|diamondrapids|znver[4-9]"
)
AMX: Final = re.compile(r"sapphirerapids|emeraldrapids|graniterapids.*|diamondrapids")

AMX_FEATURES: Final = frozenset({"amx-tile", "amx-int8", "amx-bf16"})
"""What code for tile registers needs."""


BASELINE: Final[Mapping[str, tuple[str, ...]]] = {
    "aarch64": ("neon",),
    "riscv64": ("m", "a", "f", "d", "c"),
}
"""Extensions that every machine has on which the usual systems run, for triples without a CPU."""


def x86_features(cpu: str) -> frozenset[str]:
    """Vector extensions of an x86 CPU by its LLVM name."""
    found = {"sse2"}
    if AVX512.fullmatch(cpu):
        found |= {"avx", "sse4.1", "avx2", "fma", "f16c"}
        found |= {"avx512f", "avx512dq", "avx512vl", "avx512bw"}
    elif AVX2.fullmatch(cpu):
        found |= {"avx", "sse4.1", "avx2", "fma", "f16c"}
    elif AVX.fullmatch(cpu):
        found |= {"avx", "sse4.1"}
    if AVX512_VNNI.fullmatch(cpu):
        found.add("avx512vnni")
    if AVX_VNNI.fullmatch(cpu):
        found.add("avxvnni")
    if AVX_VNNI_INT8.fullmatch(cpu):
        found.add("avxvnniint8")
    if AVX512_BF16.fullmatch(cpu):
        found.add("avx512bf16")
    if AMX.fullmatch(cpu):
        found |= AMX_FEATURES
    return frozenset(found)


def dot_product_dtypes(
    architecture: str, features: frozenset[str], vector_bits: int
) -> frozenset[str]:
    """Dtypes of which vectors have instructions that add products in groups; see `Machine`."""
    if architecture == "aarch64":
        known = {
            "dotprod": ("int8",),
            "i8mm": ("mixed int8", "int8 matrix", "mixed int8 matrix"),
            "bf16": ("bfloat16", "bfloat16 matrix"),
        }
        return frozenset(d for feature in known.keys() & features for d in known[feature])
    if architecture != "x86_64":
        return frozenset()
    found = set()
    if {"amx-tile", "amx-int8"} <= features:
        found |= {"int8 tile", "mixed int8 tile"}
    if {"amx-tile", "amx-bf16"} <= features:
        found.add("bfloat16 tile")
    if vector_bits < 128:
        return frozenset(found)
    found.add("int16")
    if "avx2" in features:
        found.add("narrow int8")
    if {"avx512vnni", "avx512vl"} <= features or ("avxvnni" in features and vector_bits <= 256):
        found.add("mixed int8")
    if "avxvnniint8" in features and vector_bits <= 256:
        found.add("int8")
    if {"avx512bf16", "avx512vl"} <= features:
        found.add("bfloat16")
    return frozenset(found)


def processor_name() -> str:
    """What the system calls the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model"):
            return value.strip()
    return platform.processor() or platform.machine()


QUOTA_FILE: Final = "/sys/fs/cgroup/cpu.max"
"""What a container may use of the processors' time: microseconds, and of how many."""


@functools.cache
def core_count() -> int:
    """Cores that this process may use, by which targets go: the same as long as it lives."""
    return usable_cores()


def usable_cores() -> int:
    """Cores that this process may run on now and, in a container, has time for."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return min(cores, quota(QUOTA_FILE) or cores)


def quota(path: str) -> int | None:
    """How many cores the time is worth that a control group has, rounded up; None if no limit."""
    try:
        time, period = map(int, Path(path).read_text().split())
    except (OSError, ValueError):
        return None
    return -(-time // period) if time > 0 and period > 0 else None


@functools.cache
def cache_sizes() -> tuple[int, int, int]:
    """Bytes of the level 1 (data), 2 and 3 caches that one core sees; usual sizes if unknown."""
    sizes = {1: 32 << 10, 2: 1 << 20, 3: 8 << 20}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            level = int((index / "level").read_text())
            text = (index / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        units = {"K": 10, "M": 20, "G": 30}
        sizes[level] = int(text.rstrip("KMG")) << units.get(text[-1], 0)
    return sizes[1], sizes[2], sizes[3]


def is_host_architecture(triple: str) -> bool:
    """Whether code for `triple` can run in this process."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    return architecture(triple) == machine


def architecture(triple: str) -> str:
    """The architecture of a triple, such as ``"x86_64"``, ``"aarch64"`` or ``"riscv64"``."""
    name = triple.split("-")[0].lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)
