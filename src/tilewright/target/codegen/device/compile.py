"""A module for a device: kernels as source, and the functions of the host that start them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentValueError, CodegenError
from tilewright.ir.convert import const
from tilewright.ir.expr import Call, Expr, StringImm
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter
from tilewright.target.codegen.device import (  # noqa: F401, emitters
    async_copies,
    atomics,
    halves,
    ptx_calls,
    tensor_cores,
    vectors,
)
from tilewright.target.codegen.device.dialect import DIALECTS, Dialect
from tilewright.target.codegen.device.emitter import write_kernel
from tilewright.target.codegen.device.nvrtc import compile_kernels, nvrtc_is_installed
from tilewright.target.codegen.llvm import compile_module as compile_host
from tilewright.target.codegen.llvm.compile import CompiledModule
from tilewright.target.codegen.params import Param
from tilewright.target.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.device import LAUNCH_AXES

SOURCE_FORMS: Final = {"opencl": ("cl",), "cuda": ("cu", "ptx")}
"""In what forms the source of kernels can be had, by the kind of target."""


class DeviceCode(NamedTuple):
    """The kernels of a module.

    Attributes:
        kind: the kind of target.
        source: their source.
        architecture: of the devices that the target names, such as ``"sm_90"``; it may be empty.
    """

    kind: str
    source: str
    architecture: str = ""

    def ptx(self) -> str:
        """What NVRTC makes of kernels in CUDA C."""
        return compile_kernels(self.source, self.architecture, "ptx").decode()


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
        self._attrs, self._target = module.attrs, target.host or Target("llvm")
        self._functions = {v: f for v, f in functions.items() if LAUNCH_AXES not in f.attrs}
        self._params = params
        self._host = self._host_code("")

    def _host_code(self, image: str) -> CompiledModule:
        """The functions of the host, with the kernels as source, and compiled to `image`."""
        rewriter = _WithKernels(self.device_code.source, image)
        functions: dict[Any, Any] = {
            var: function.with_body(rewriter(function.body))
            for var, function in self._functions.items()
        }
        return compile_host(IRModule(functions, self._attrs), self._target, self._params)

    @functools.cached_property
    def _exported(self) -> CompiledModule:
        """Code for other processes, which may have a driver, but no NVRTC."""
        is_compiled = self.device_code.kind == "cuda" and nvrtc_is_installed()
        return self._host_code(self.device_code.ptx()) if is_compiled else self._host

    def source(self, fmt: str) -> str:
        """The code of the host; that of the device is the source of the imported module."""
        return self._host.source(fmt)

    def function_address(self, symbol: str) -> int:
        """The address of an exported function in this process; 0 if there is none."""
        return self._host.function_address(symbol)

    def object_code(self) -> bytes:
        """An object file for the host, which holds the kernels: see `write_objects`."""
        return self._exported.object_code()

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths.

        They hold the kernels as source, for drivers that compile it (OpenCL) and for NVRTC. Those
        for CUDA are there in PTX as well, which drivers load, if NVRTC is installed here.
        """
        return self._exported.write_objects(directory)


class _WithKernels(Rewriter):
    """Puts the kernels of a module into the functions that start them."""

    def __init__(self, source: str, image: str) -> None:
        self._texts = {"source": StringImm(source), "image": StringImm(image)}

    def Call(self, call: Call) -> Expr:
        if not isinstance(call.op, Op) or call.op.name != "tir.kernel_code":
            return call.map_children(self)
        field, kernel = (str(argument) for argument in call.args)
        if field != "key":
            return self._texts[field]
        identity = f"{kernel}\n{self._texts['source'].value}".encode()
        digest = hashlib.blake2b(identity, digest_size=8).digest()
        return const(int.from_bytes(digest, "little", signed=True), "int64")


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
            return self._code.ptx()
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
    source = generate_kernels(kernels, DIALECTS[target.kind.name])
    return DeviceCode(target.kind.name, source, target.arch)


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
