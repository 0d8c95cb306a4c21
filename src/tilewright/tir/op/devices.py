"""Operators of host functions that use a device: they start kernels, and have memory between them.

What they become calls the launcher, `tilewright.target.launcher`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from tilewright.error import LoweringError
from tilewright.ir.convert import const
from tilewright.ir.dtype import HANDLE, INT32, INT64, VOID, DType
from tilewright.ir.expr import Call, Expr, StringImm, Var
from tilewright.ir.op import CallEffectKind, Op, register_op

__all__ = [
    "DEVICE_MEMORY", "call_launcher", "device_beside", "kernel_code", "launch_kernel",
    "new_device_array",
]  # fmt: skip

DEVICE_MEMORY: Final = "tir.device_memory"
"""An annotation of allocations: the device type whose memory they are, as DLPack counts types.

An attribute of this name around them has the address of an array that is on the same device.
"""

register_op("tir.launch_kernel", CallEffectKind.OPAQUE, vectorizable=False)
register_op("tir.kernel_code", CallEffectKind.PURE, arity=2, vectorizable=False)
# What `launch_kernel` becomes, with the address of its arguments.
register_op("tir.launch_kernel_lowered", CallEffectKind.OPAQUE, arity=1, vectorizable=False)
register_op("tir.call_launcher", CallEffectKind.OPAQUE, vectorizable=False)

_AXES: Final = {
    **{f"blockIdx.{axis}": axis for axis in "xyz"},
    **{f"threadIdx.{axis}": axis.upper() for axis in "xyz"},
}


def launch_kernel(
    device_type: int,
    name: str,
    arguments: Sequence[Var],
    extents: Mapping[str, Expr],
    shared: Expr | None = None,
) -> Expr:
    """Start a kernel of the module; for its effect only.

    Args:
        device_type: DLPack's number of the devices.
        name: of the kernel.
        arguments: pointers and numbers.
        extents: of its axes, by their tags.
        shared: number of bytes of memory of a block whose size is chosen here.
    """
    parameters = "".join(_letter(argument.dtype) for argument in arguments)
    axes = "".join(_AXES[tag] for tag in extents) + ("" if shared is None else "m")
    numbers = (*extents.values(), *(() if shared is None else (shared,)))
    known = (
        const(device_type, "int64"),
        *(kernel_code(field, name) for field in ("key", "source", "image")),
        StringImm(name),
        StringImm(f"{parameters}:{axes}"),
    )
    return Call(VOID, Op.get("tir.launch_kernel"), (*known, *arguments, *numbers))


def call_launcher(dtype: DType, name: str, *arguments: Expr) -> Expr:
    """What a function of the launcher returns, such as ``tilewright_device_read``."""
    return Call(dtype, Op.get("tir.call_launcher"), (StringImm(name), *arguments))


def new_device_array(
    slot: Expr, device_type: int, device: Expr, ndim: int, dtype_word: int, shape: Expr
) -> Expr:
    """Put a new array of a device into a slot; a status.

    Args:
        slot: the address of a ``TVMFFIAny``.
        device_type: DLPack's number of the type of the device.
        device: its number.
        ndim: number of dimensions.
        dtype_word: the dtype of the elements, as arrays have it in a word.
        shape: the address of the extents, in int64.
    """
    numbers = (const(ndim, "int32"), const(dtype_word, "int32"))
    kind = const(device_type, "int32")
    return call_launcher(INT32, "tilewright_device_new_array", slot, kind, device, *numbers, shape)


def device_beside(device_type: int, memory: Expr) -> Expr:
    """The number of the device that memory is on, negative after an error.

    A null pointer stands for the device that the host has chosen.
    """
    kind = const(device_type, "int32")
    return call_launcher(INT64, "tilewright_device_beside", kind, memory)


def kernel_code(field: Literal["key", "source", "image"], kernel: str) -> Expr:
    """What the backend makes of the kernels of the module, once it is known.

    The source; what that was compiled to, or an empty text; and a number that tells a kernel of
    this source from all others.
    """
    dtype = INT64 if field == "key" else HANDLE
    return Call(dtype, Op.get("tir.kernel_code"), (StringImm(field), StringImm(kernel)))


def _letter(dtype: DType) -> str:
    """How the launcher passes a parameter: see ``number_of`` in launcher.c."""
    if dtype.is_handle:
        return "p"
    if dtype.is_float:
        return "d" if dtype.bits == 64 else "f"  # kernels take halves as float32
    letter = {8: "b", 16: "h", 32: "i", 64: "l"}.get(8 if dtype.is_bool else dtype.bits)
    if letter is None or dtype.is_vector:
        raise LoweringError(f"a kernel cannot take a number of dtype {dtype!s}")
    return letter
