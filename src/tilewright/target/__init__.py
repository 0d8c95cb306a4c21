"""Targets, and the backends that generate code for them."""

from typing import Any

from tilewright.target.kinds import TargetKind
from tilewright.target.target import Target


def llvm(options: str = "") -> Target:
    """A CPU, by LLVM; `options` are those of the target string."""
    return Target(f"llvm {options}".strip())


def cuda(model: str = "", arch: str = "", options: str = "") -> Target:
    """An NVIDIA GPU."""
    extra = " ".join(
        part
        for part in (f"-model={model}" if model else "", f"-arch={arch}" if arch else "", options)
        if part
    )
    return Target(f"cuda {extra}".strip())


def opencl(options: str = "") -> Target:
    """A device with OpenCL."""
    return Target(f"opencl {options}".strip())


def arm_cpu(model: str = "", options: str = "") -> Target:
    """A 64-bit ARM CPU with Linux."""
    extra = f"-model={model} " if model else ""
    return Target(f"llvm -device=arm_cpu -mtriple=aarch64-linux-gnu {extra}{options}".strip())


def create(target: Any) -> Target:
    """`target` as a `Target`."""
    return Target(target)
