"""`CompiledModule`: a module whose methods are native code, with its parameters and its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import ArgumentError, require_one_of
from tilewright.ir.module import IRModule
from tilewright.relax.frontend.nn import spec as specs
from tilewright.relax.frontend.nn.exporter import Exporter
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter, as_array
from tilewright.relax.frontend.nn.spec import MethodSpec, ModuleSpec
from tilewright.relax.transform import AttachExternModules, BindParams
from tilewright.relax.vm import VirtualMachine, build
from tilewright.runtime.device import as_device, cpu, cuda
from tilewright.runtime.ndarray import NDArray
from tilewright.target import Target

FORMATS: Final = ("torch", "numpy", "tvm")
"""What the results of a compiled module can be."""


def compile_module(
    module: Module, spec: Any, device: Any, pipeline: Any, out_format: str, debug: bool
) -> CompiledModule:
    """See `Module.jit`."""
    require_one_of("jit: out_format", out_format, FORMATS)
    whole = ModuleSpec.from_raw(spec, module)
    mod, params, externs = Exporter(debug=debug).build(whole)
    values = [_data(name, param) for name, param in params]
    mod = _with_weights(AttachExternModules(externs)(mod), whole, values)
    place = as_device(device)
    target = str(place).partition("(")[0] if place != cpu() and Target.current() is None else None
    passes = "default_build" if pipeline is None else pipeline
    executable = build(mod, target, pipeline=passes)
    has_state = "_initialize_effect" in mod
    return CompiledModule(whole, VirtualMachine(executable, place), values, out_format, has_state)


def _with_weights(mod: IRModule, spec: ModuleSpec, values: list[NDArray]) -> IRModule:
    """The module with parameters as constants, where functions take them one by one."""
    for name, method in zip(spec.method_names, spec.method_specs, strict=True):
        params = mod[name].params
        if method.param_mode == "plain" and values:
            mod = BindParams(name, dict(zip(params[-len(values) :], values, strict=True)))(mod)
    return mod


def _data(name: str, param: Parameter) -> NDArray:
    if param.data is None:
        raise ArgumentError(
            f"jit: parameter {name} has no data; set `param.data`, or load_state_dict(...)"
        )
    return param.data


class CompiledModule:
    """Methods that take and return arrays; the parameters and the state are kept.

    Attributes:
        spec: the methods and their arguments.
        vm: the functions.
        params: the data of the parameters, in the order of their paths.
        effects: the state before the next call.
    """

    def __init__(
        self, spec: ModuleSpec, vm: VirtualMachine, params: list[NDArray], out_format: str,
        has_state: bool,
    ) -> None:  # fmt: skip
        self.spec, self.vm, self.params = spec, vm, params
        self._out_format = out_format
        self._methods = dict(zip(spec.method_names, spec.method_specs, strict=True))
        self.effects: list[Any] = []
        if has_state:
            self.effects = list(vm["_initialize_effect"]())

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The method `name`, to be called with arrays of any framework and whole numbers."""
        method = self._methods.get(name)
        if method is None:
            raise ArgumentError(f"the module has methods {list(self._methods)}, not {name!r}")
        return lambda *args: self._call(name, method, args)

    def __call__(self, *args: Any) -> Any:
        """Call the method ``forward``."""
        return self["forward"](*args)

    def _call(self, name: str, method: MethodSpec, args: tuple[Any, ...]) -> Any:
        if len(args) != len(method.arg_names):
            raise ArgumentError(
                f"{name} takes {len(method.arg_names)} arguments ({', '.join(method.arg_names)}), "
                f"got {len(args)}"
            )
        named = zip(method.arg_names, method.arg_specs, args, strict=True)
        values = [_argument(name, arg, spec, value) for arg, spec, value in named]
        effects = _as_mode(method.effect_mode, self.effects)
        params = [tuple(self.params)] if method.param_mode == "packed" and self.params else []
        result = self.vm[name](*values, *effects, *params)
        if effects:
            result, changed = result
            self.effects = list(changed)
        return self._result(result)

    def _result(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._result, value))
        if not isinstance(value, NDArray) or self._out_format == "tvm":
            return value
        if self._out_format == "numpy":
            return value.numpy()
        import torch

        is_shared = value.device in (cpu(), cuda(value.device.device_id))
        return torch.from_dlpack(value) if is_shared else torch.from_numpy(value.numpy())


def _as_mode(mode: str, values: list[Any]) -> list[Any]:
    if mode == "none":
        return []
    return [tuple(values)] if mode == "packed" and values else values


def _argument(method: str, name: str, spec: Any, value: Any) -> Any:
    """An argument as functions of the virtual machine take it."""
    if isinstance(spec, specs.Int):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ArgumentError(f"{method}: {name} is a whole number, got {value!r}")
        return (value.__index__(),)
    if isinstance(spec, specs.Tuple):
        if not isinstance(value, (list, tuple)) or len(value) != len(spec.elements):
            raise ArgumentError(
                f"{method}: {name} is a tuple of {len(spec.elements)}, got {value!r}"
            )
        parts = enumerate(zip(spec.elements, value, strict=True))
        return tuple(_argument(method, f"{name}_{i}", *part) for i, part in parts)
    if isinstance(spec, specs.Tensor) and hasattr(value, "detach"):
        return as_array(value)  # results are tensors of torch only where that is wanted
    return value
