"""Devices that a program names, which must all be processors: it runs on one."""

from __future__ import annotations

from tilewright.error import DeviceError
from tilewright.ir.global_info import VDevice
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import walk_once
from tilewright.ir.span import Span
from tilewright.relax.expr import Call, Function
from tilewright.relax.struct_info import TensorStructInfo


def require_processor(device: VDevice, span: Span | None = None) -> None:
    """Refuse a device that is no processor.

    Raises:
        DeviceError: naming it.
    """
    target = device.target
    if target is None or target.kind.device_type == "cpu":
        return
    where = "" if span is None else f" ({span})"
    raise DeviceError(
        f"graphs run on processors, but {device!r} is asked for{where}: leave vdevice out, or take "
        "I.vdevice('llvm')"
    )


def check_devices(mod: IRModule) -> None:
    """Refuse a module with arrays on devices that are no processors.

    Raises:
        DeviceError: naming one.
    """
    for function in mod.functions.values():
        if not isinstance(function, Function):
            continue
        for node in walk_once(function):
            if isinstance(node, TensorStructInfo) and node.vdevice is not None:
                require_processor(node.vdevice, node.span)
            elif isinstance(node, Call) and isinstance(node.attrs.get("dst_vdevice"), VDevice):
                require_processor(node.attrs["dst_vdevice"], node.span)
