"""Devices that a program names, which must all be processors: it runs on one."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, DeviceError
from tilewright.ir.module import IRModule, VDevice
from tilewright.ir.node import Span
from tilewright.ir.rewrite import walk_once
from tilewright.relax.expr import Call, Function
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import TensorStructInfo


def require_processor(device: VDevice, span: Span | None = None) -> None:
    """Refuse a device that is not a processor.

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
    """Refuse a module with arrays on devices that are not processors.

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


def _infer_to_vdevice(inference: Inference) -> TensorStructInfo:
    info, device = inference.tensor(0), inference.attr("dst_vdevice")
    assert isinstance(device, VDevice)
    return TensorStructInfo(info.shape, info.dtype, device, info.ndim)


def _infer_hint(inference: Inference) -> TensorStructInfo:
    return inference.tensor(0)


def _legalize(builder: Any, expr: Call) -> Any:
    """The array itself: a program runs on one processor."""
    del builder
    require_processor(expr.attrs["dst_vdevice"], expr.span)
    return expr.args[0]


_TO_VDEVICE = register("to_vdevice", ("data",), _infer_to_vdevice, _legalize, is_view=True)
_HINT_ON_DEVICE = register("hint_on_device", ("data",), _infer_hint, _legalize, is_view=True)


def _device(caller: str, value: Any) -> VDevice:
    if not isinstance(value, VDevice):
        raise ArgumentError(f"{caller}: dst_vdevice is one of I.vdevice, got {value!r}")
    return value


def to_vdevice(data: Any, dst_vdevice: VDevice) -> Call:
    """`data` on a device.

    Args:
        data: an array.
        dst_vdevice: the device; in a script, also its name, such as ``"llvm:0"``.
    """
    device = _device("R.to_vdevice", dst_vdevice)
    return call(_TO_VDEVICE, data, attrs={"dst_vdevice": device})


def hint_on_device(data: Any, dst_vdevice: VDevice) -> Call:
    """`data`, of which the operation that uses it should run on a device.

    Args:
        data: an array.
        dst_vdevice: the device; in a script, also its name, such as ``"llvm:0"``.
    """
    device = _device("R.hint_on_device", dst_vdevice)
    return call(_HINT_ON_DEVICE, data, attrs={"dst_vdevice": device})
