"""Where the values and kernels of a module are: on the host, or on the device that it is for."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Final

from tilewright.driver.compiled_units import with_callees
from tilewright.driver.default import DefaultSchedule
from tilewright.driver.pipeline import check_kernels, for_backend
from tilewright.error import CodegenError, DeviceError, LoweringError
from tilewright.ir.expr import Call as TensorCall
from tilewright.ir.module import GlobalVar, IRModule, VDevice
from tilewright.ir.node import Node, Span
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk, walk_once
from tilewright.relax.expr import Call, Function
from tilewright.relax.struct_info import StructInfo, TensorStructInfo
from tilewright.runtime.device import DEVICE_TYPES
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import AttrStmt, For, ForKind
from tilewright.tir.transform.device.barriers import is_axis

HOST_CALLS: Final = frozenset(
    f"tir.{name}"
    for name in (
        "call_extern", "call_pure_extern", "tvm_call_packed", "tvm_call_cpacked",
        "tvm_call_trace_packed",
    )
)  # fmt: skip
"""Calls of functions that the host has."""


class Placement:
    """The host, and the device that a module is compiled for, if there is one.

    Attributes:
        kind: the kind of target of the device; None for a module of the host alone.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.kind = target.kind.name if target.kind.name in KERNEL_KINDS else None

    @property
    def has_device(self) -> bool:
        """Whether there is a device."""
        return self.kind is not None

    @functools.cached_property
    def host(self) -> Target:
        """The target of what runs on the host."""
        return (self.target.host or Target("llvm")) if self.has_device else self.target

    @property
    def device_type(self) -> int:
        """DLPack's number of the type of the device, or of the host where there is none."""
        return DEVICE_TYPES[self.kind or "cpu"]

    def is_on_device(self, info: StructInfo | None) -> bool:
        """Whether a value is on the device: as it says, and where it says nothing."""
        vdevice = info.vdevice if isinstance(info, TensorStructInfo) else None
        return self.has_device and (vdevice is None or not is_host(vdevice))

    def check(self, module: IRModule) -> None:
        """Refuse a module with arrays on devices other than these.

        Raises:
            DeviceError: naming one.
        """
        for vdevice, span in _devices_in(module):
            if is_host(vdevice) or (
                vdevice.target.kind.name == self.kind and not vdevice.vdevice_id
            ):
                continue
            where = "" if span is None else f" ({span})"
            also = f", and {self.kind}:0" if self.has_device else ""
            raise DeviceError(
                f"relax.build: {vdevice!r} is asked for{where}, and the module is compiled for "
                f"{self.target.kind.name}: its arrays can be on the host, such as "
                f'I.vdevice("llvm"){also}; leave the device out, or build for it. VirtualMachine '
                "chooses which of several devices it is"
            )


def is_host(vdevice: VDevice) -> bool:
    """Whether arrays there are in the memory of the host."""
    return vdevice.target is None or vdevice.target.kind.device_type == "cpu"


def _devices_in(module: IRModule) -> Iterator[tuple[VDevice, Span | None]]:
    for function in module.functions.values():
        for node in walk_once(function) if isinstance(function, Function) else ():
            vdevice = node.vdevice if isinstance(node, TensorStructInfo) else None
            if isinstance(node, Call):
                vdevice = node.attrs.get("dst_vdevice")
            if isinstance(vdevice, VDevice):
                yield vdevice, getattr(node, "span", None)


class DeviceKernels:
    """Tensor programs of a module as functions that start kernels, as far as there are some.

    Attributes:
        lowered: those that were asked for and run on the device, with functions that they call.
    """

    def __init__(self, module: IRModule, placement: Placement) -> None:
        self._module, self.placement = module, placement
        self._known: dict[PrimFunc, bool] = {}
        self.lowered: dict[GlobalVar, PrimFunc] = {}

    def add(self, name: GlobalVar, function: PrimFunc) -> bool:
        """Whether a tensor program can run on the device; the host runs what no rule puts there.

        Raises:
            LoweringError: for a program that says itself what runs on threads, and is wrong.
            CodegenError: in the same case.
        """
        known = self._known.get(function)
        if known is None:
            known = self._known[function] = self._lower(name, function)
        return known

    @property
    def count(self) -> int:
        """Number of tensor programs that run on the device."""
        return sum(self._known.values())

    def _lower(self, name: GlobalVar, function: PrimFunc) -> bool:
        target = self.placement.target
        has_threads = any(map(_is_on_threads, walk(function.body)))
        if not has_threads and _is_for_host(function):
            return False
        private = function.without_attr("global_symbol").with_attr("tir.noalias", True)
        module = IRModule(with_callees(self._module, name, private))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # that there is no schedule
                legal = for_backend(module, target)
            check_kernels(legal, target)
        except (LoweringError, CodegenError):
            if has_threads or not DefaultSchedule.applies(target):
                raise
            return False
        self.lowered |= {v: f for v, f in legal.functions.items() if isinstance(f, PrimFunc)}
        return True


def _is_on_threads(node: Node) -> bool:
    """Whether a loop or a statement says that what is inside runs on blocks and threads."""
    if isinstance(node, For):
        return node.kind is ForKind.THREAD_BINDING
    return isinstance(node, AttrStmt) and is_axis(node)


def _is_for_host(function: PrimFunc) -> bool:
    """Whether a tensor program says that it is for a processor, or calls functions of the host."""
    target = function.attrs.get("target")
    if isinstance(target, Target):
        return target.kind.name not in KERNEL_KINDS
    return any(
        isinstance(node, TensorCall) and isinstance(node.op, Op) and node.op.name in HOST_CALLS
        for node in walk(function.body)
    )
