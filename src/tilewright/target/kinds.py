"""The kinds of targets, and the attributes that each takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tilewright.error import TargetError, did_you_mean


class TargetKind(NamedTuple):
    """A backend and what can be said about its machine."""

    name: str
    device_type: str
    """The name of the devices that run its code."""
    keys: tuple[str, ...]
    """Families that the target belongs to."""
    attributes: Mapping[str, type]

    def __str__(self) -> str:
        return self.name


_COMMON: Final[dict[str, type]] = {
    "keys": list, "libs": list, "tag": str, "device": str, "model": str,
}  # fmt: skip
_CPU: Final[dict[str, type]] = {
    **_COMMON, "mcpu": str, "mtriple": str, "mattr": list, "mabi": str, "mfloat-abi": str,
    "num-cores": int, "vector-width": int, "cache-sizes": list, "opt-level": int, "fast-math": bool,
    "runtime": str, "system-lib": bool, "jit": str, "cl-opt": list,
}  # fmt: skip
_GPU: Final[dict[str, type]] = {
    **_COMMON, "arch": str, "mcpu": str, "max_threads_per_block": int, "max_num_threads": int,
    "thread_warp_size": int, "max_shared_memory_per_block": int, "registers_per_block": int,
    "l2_cache_size_bytes": int, "max_function_args": int, "max_local_memory_per_block": int,
    "multi_processor_count": int, "clock_rate_mhz": int, "memory_bandwidth_gbps": int,
}  # fmt: skip

_VULKAN: Final[dict[str, type]] = {
    **_GPU, "from_device": int, "max_push_constants_size": int, "supports_float16": bool,
    "supports_float32": bool, "supports_float64": bool, "supports_int8": bool,
    "supports_int16": bool, "supports_int32": bool, "supports_int64": bool,
    "supports_8bit_buffer": bool, "supports_16bit_buffer": bool,
}  # fmt: skip

KINDS: Final = {
    kind.name: kind
    for kind in (
        TargetKind("llvm", "cpu", ("cpu",), _CPU),
        TargetKind("c", "cpu", ("cpu",), {**_CPU, "constants-byte-alignment": int}),
        TargetKind("cuda", "cuda", ("cuda", "gpu"), _GPU),
        TargetKind("opencl", "opencl", ("opencl", "gpu"), _GPU),
        # Programs name these, too. They can be described, and `tvm.build` refuses them.
        TargetKind("rocm", "rocm", ("rocm", "gpu"), {**_GPU, "mtriple": str, "mattr": list}),
        TargetKind("metal", "metal", ("metal", "gpu"), _GPU),
        TargetKind("vulkan", "vulkan", ("vulkan", "gpu"), _VULKAN),
        TargetKind("webgpu", "webgpu", ("webgpu", "gpu"), _GPU),
        TargetKind("hexagon", "hexagon", ("hexagon", "cpu"), {**_CPU, "vtcm-capacity": int}),
    )
}
"""All kinds by name."""

KERNEL_KINDS: Final = ("opencl", "cuda")
"""Kinds for which loops over threads become kernels."""

TAGS: Final[dict[str, dict[str, Any]]] = {
    "nvidia/nvidia-a100": {
        "kind": "cuda", "arch": "sm_80", "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024, "thread_warp_size": 32, "registers_per_block": 65536,
        "l2_cache_size_bytes": 41943040,
    },
    "nvidia/nvidia-h100": {
        "kind": "cuda", "arch": "sm_90a", "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024, "thread_warp_size": 32, "registers_per_block": 65536,
        "l2_cache_size_bytes": 52428800,
    },
    "nvidia/geforce-rtx-3070": {
        "kind": "cuda", "arch": "sm_86", "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024, "thread_warp_size": 32, "registers_per_block": 65536,
        "l2_cache_size_bytes": 4194304, "multi_processor_count": 46, "clock_rate_mhz": 1725,
        "memory_bandwidth_gbps": 448,
    },
    "aws/cpu/c5.large": {"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 1},
    "aws/cpu/c5.9xlarge": {"kind": "llvm", "mcpu": "skylake-avx512", "num-cores": 18},
    "raspberry-pi/4b-aarch64": {
        "kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "num-cores": 4,
        "mattr": ["+neon"],
    },
    "riscv/rv64gcv": {
        "kind": "llvm", "mtriple": "riscv64-linux-gnu", "mcpu": "generic-rv64",
        "mattr": ["+64bit", "+m", "+a", "+f", "+d", "+c", "+v"], "mabi": "lp64d",
    },
}  # fmt: skip
"""Machines that can be named instead of described."""


def find_kind(name: object) -> TargetKind:
    """The kind of that name."""
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        hint = did_you_mean(name, [*KINDS, *TAGS])
        raise TargetError(f"there is no target kind {name!r}; known are {', '.join(KINDS)}{hint}")
    return kind


def convert_attribute(kind: TargetKind, name: str, value: object) -> Any:
    """The value of an attribute in its own type."""
    wanted = kind.attributes.get(name)
    if wanted is None:
        hint = did_you_mean(name, kind.attributes)
        known = ", ".join(sorted(kind.attributes))
        raise TargetError(f"target {kind.name} has no attribute {name!r}{hint} (it has {known})")
    converter: Callable[[object], Any] = _CONVERTERS[wanted]
    try:
        return converter(value)
    except (TypeError, ValueError):
        raise TargetError(
            f"target {kind.name}: attribute {name} needs a value of type {wanted.__name__}, "
            f"got {value!r}"
        ) from None


def _as_list(value: object) -> list[str]:
    if isinstance(value, str):
        return [item for item in value.split(",") if item]
    return [str(item) for item in value]  # type: ignore[union-attr]


def _as_bool(value: object) -> bool:
    text = str(value).lower()
    if text not in ("0", "1", "true", "false"):
        raise ValueError(text)
    return text in ("1", "true")


_CONVERTERS: Final[dict[type, Callable[[Any], Any]]] = {
    str: str, int: int, bool: _as_bool, list: _as_list,
}  # fmt: skip
