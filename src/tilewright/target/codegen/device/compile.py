"""A module for a device: kernels as source, and the functions of the host that start them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentValueError, CodegenError
from tilewright.ir.library import KERNELS_FUNCTION, SYMBOL_PREFIX
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.target.codegen.device import vectors  # noqa: F401, emitters
from tilewright.target.codegen.device.dialect import DIALECTS, Dialect
from tilewright.target.codegen.device.emitter import write_kernel
from tilewright.target.codegen.device.nvrtc import compile_kernels
from tilewright.target.codegen.llvm import compile_module as compile_host
from tilewright.target.codegen.params import Param
from tilewright.target.target import Target
from tilewright.tir.call_boundary.metadata import text_function
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.device import KERNEL_SYMBOL, LAUNCH_AXES

SOURCE_FORMS: Final = {"opencl": ("cl",), "cuda": ("cu", "ptx")}
"""In what forms the source of kernels can be had, by the kind of target."""


class Kernel(NamedTuple):
    """How a kernel is started.

    Attributes:
        name: of the kernel.
        symbol: the registered function that starts it.
        parameters: the dtypes of its parameters, ``"handle"`` for pointers.
        axes: the tags of its axes; their extents follow the arguments of a call.
    """

    name: str
    symbol: str
    parameters: tuple[str, ...]
    axes: tuple[str, ...]


class DeviceCode(NamedTuple):
    """The kernels of a module.

    Attributes:
        kind: the kind of target.
        source: their source.
        kernels: how each is started.
        architecture: of the devices that the target names, such as ``"sm_90"``; it may be empty.
    """

    kind: str
    source: str
    kernels: tuple[Kernel, ...]
    architecture: str = ""

    def as_json(self) -> str:
        """A text from which `from_json` makes the same."""
        return json.dumps(self)

    @staticmethod
    def from_json(text: str) -> DeviceCode:
        """The code that `as_json` wrote."""
        kind, source, kernels, architecture = json.loads(text)
        return DeviceCode(kind, source, tuple(_kernel(*form) for form in kernels), architecture)


def _kernel(name: str, symbol: str, parameters: list[str], axes: list[str]) -> Kernel:
    return Kernel(name, symbol, tuple(parameters), tuple(axes))


class CompiledDeviceModule:
    """Kernels, and compiled functions that start them.

    Attributes:
        device_code: the kernels.
    """

    def __init__(
        self, module: IRModule, target: Target, params: Mapping[str, Param] | None = None
    ) -> None:
        self.device_code = device_code(module, target)
        functions = {v: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}
        host: dict[Any, Any] = {v: f for v, f in functions.items() if LAUNCH_AXES not in f.attrs}
        symbol = SYMBOL_PREFIX + KERNELS_FUNCTION
        host[GlobalVar(symbol)] = text_function(symbol, self.device_code.as_json())
        host_target = target.host or Target("llvm")
        self._host = compile_host(IRModule(host, module.attrs), host_target, params)

    def source(self, fmt: str) -> str:
        """The code of the host; that of the device is the source of the imported module."""
        return self._host.source(fmt)

    def function_address(self, symbol: str) -> int:
        """The address of an exported function in this process; 0 if there is none."""
        return self._host.function_address(symbol)

    def object_code(self) -> bytes:
        """An object file for the host, which holds the kernels as source."""
        return self._host.object_code()

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths."""
        return self._host.write_objects(directory)


class KernelSource:
    """The kernels of a module as a module of its own, for reading."""

    def __init__(self, code: DeviceCode) -> None:
        self._code = code

    def source(self, fmt: str) -> str:
        """The source of the kernels; for CUDA also ``"ptx"``, what NVRTC makes of it."""
        forms = SOURCE_FORMS[self._code.kind]
        if fmt not in ("", self._code.kind, *forms):
            raise ArgumentValueError(
                f"kernels for {self._code.kind} have their source as "
                f"{', '.join(map(repr, (self._code.kind, *forms)))}, not {fmt!r}"
            )
        if fmt == "ptx":
            return compile_kernels(self._code.source, self._code.architecture, "ptx").decode()
        return self._code.source

    def function_address(self, symbol: str) -> int:
        """Kernels have no address; the functions of the host start them."""
        del symbol
        return 0

    def object_code(self) -> bytes:
        """Kernels are exported with the functions that start them."""
        raise CodegenError("export the module that imports these kernels; they are part of it")

    def write_objects(self, directory: str) -> list[str]:
        """See `object_code`."""
        del directory
        self.object_code()
        return []


def compile_module(
    module: IRModule, target: Target, params: Mapping[str, Param] | None = None
) -> CompiledDeviceModule:
    """The code of a module whose kernels are functions of their own.

    Args:
        module: the kernels, and functions of the host.
        target: the device.
        params: the constants that functions of the host find by `lookup_param`.

    Raises:
        CodegenError: for what kernels cannot express.
    """
    return CompiledDeviceModule(module, target, params)


def device_code(module: IRModule, target: Target) -> DeviceCode:
    """The kernels of a module.

    Raises:
        CodegenError: for what they cannot express.
    """
    kernels = {
        var: function
        for var, function in module.functions.items()
        if isinstance(function, PrimFunc) and LAUNCH_AXES in function.attrs
    }
    return DeviceCode(
        target.kind.name,
        generate_kernels(kernels, DIALECTS[target.kind.name]),
        tuple(map(_described, kernels.values())),
        target.arch,
    )


def generate_kernels(kernels: Mapping[GlobalVar, PrimFunc], dialect: Dialect) -> str:
    """The source of kernels.

    Raises:
        CodegenError: for what they cannot express.
    """
    helpers: dict[str, str] = {}
    definitions = [
        write_kernel(var.name_hint, function, dialect, helpers) for var, function in kernels.items()
    ]
    functions = [
        dialect.helpers.get(name, source).replace("static inline", dialect.helper)
        for name, source in helpers.items()
        if source
    ]
    return "\n".join([dialect.prelude, *functions, *definitions, ""])


def _described(kernel: PrimFunc) -> Kernel:
    attrs = kernel.attrs
    return Kernel(
        kernel.global_symbol or "",
        str(attrs[KERNEL_SYMBOL]),
        tuple(str(param.dtype) for param in kernel.params),
        tuple(map(str, attrs[LAUNCH_AXES])),
    )
