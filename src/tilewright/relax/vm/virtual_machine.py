"""`VirtualMachine`: the functions of a compiled module, ready to be called."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm_ffi import core

from tilewright.error import ArgumentError, DeviceError
from tilewright.relax.vm.executable import Executable
from tilewright.relax.vm.function import (
    EvaluatedFunction,
    GraphFunction,
    ObservedDescription,
    SavedFunction,
    descriptions_of,
    graph_function,
)
from tilewright.relax.vm.profile import (
    InstrumentedFunction,
    ObservedFunctions,
    ObservedLibrary,
    Profile,
    profile,
)
from tilewright.runtime.benchmark import TimeEvaluator
from tilewright.runtime.device import Device, as_device, cpu, driver_of
from tilewright.runtime.device import device as make_device
from tilewright.runtime.loading import load_module
from tilewright.runtime.module import Module


class VirtualMachine:
    """Runs the graph functions of a compiled module: ``vm["main"](x)``.

    Attributes:
        module: the native functions.
    """

    def __init__(
        self,
        rt_mod: Executable | Module | str | os.PathLike[str],
        device: core.Device | str | Sequence[core.Device | str] | None = None,
        memory_cfg: object = None,
        profile: bool = False,
    ) -> None:
        """Get ready to run.

        Args:
            rt_mod: what `relax.build` returned, a module that was loaded, or the path of a library.
            device: where to run: the CPU, or for a module that was compiled for a device, the one
                that it is. In a list, the host may stand beside it.
            memory_cfg: kept for old programs: memory is planned when a module is compiled.
            profile: whether `profile` will be called; it can be in any case.
        """
        del memory_cfg, profile
        if isinstance(rt_mod, (str, os.PathLike)):
            rt_mod = load_module(rt_mod)
        if not isinstance(rt_mod, (Executable, Module)):
            raise ArgumentError(
                f"VirtualMachine: expected what relax.build returns, or a module, got {rt_mod!r}"
            )
        self._executable = rt_mod if isinstance(rt_mod, Executable) else None
        self.module = rt_mod.module if isinstance(rt_mod, Executable) else rt_mod
        self._descriptions = descriptions_of(self.module)
        self._device = _chosen_device(device, self._descriptions.device)
        self._profiled: ObservedFunctions | None = None
        self._instrumented: ObservedFunctions | None = None
        self._instrument: Callable[..., Any] | None = None
        self._functions: dict[str, Any] = {}
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The function `name`, to be called with arrays, numbers, tuples and shapes."""
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = self._find(name)
        return function

    def _find(self, name: str) -> Any:
        if self._executable is not None and name in self._executable.reasons:
            return EvaluatedFunction(self._executable.evaluator, name, self._device)
        if self._instrument is not None and self._instrumented is not None:
            return InstrumentedFunction(self._instrumented, name, self._instrument)
        return graph_function(self.module, name, self._descriptions, self._device)

    def invoke_closure(self, closure: Callable[..., Any], *args: Any) -> Any:
        """Call a function value."""
        return closure(*args)

    # --- stateful calls -----------------------------------------------------------------------

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Remember arguments for `invoke_stateful`; for a device, with arrays of the host copied.

        Args:
            func_name: the function.
            *args: its first arguments.
            **kwargs: the others, by name.
        """
        self._inputs[func_name] = self._arguments(func_name, args, kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the arguments of `set_input`; `get_outputs` returns the result."""
        arguments = self._stateful_arguments("invoke_stateful", func_name)
        self._outputs.pop(func_name, None)  # those of an earlier call, if this one fails
        self._outputs[func_name] = self[func_name](*arguments)

    def _stateful_arguments(self, caller: str, func_name: str) -> tuple[Any, ...]:
        if func_name not in self._inputs:
            raise ArgumentError(f"{caller}: call set_input({func_name!r}, ...) first")
        return self._inputs[func_name]

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful`."""
        if func_name not in self._outputs:
            raise ArgumentError(f"get_outputs: call invoke_stateful({func_name!r}) first")
        return self._outputs[func_name]

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make ``vm[saved_name]`` a function without parameters that calls another one.

        Args:
            func_name: the function that is called.
            saved_name: the new name.
            *args: its first arguments.
            include_return: whether the result is returned.
            **kwargs: the other arguments, by name.
        """
        arguments = self._arguments(func_name, args, kwargs)
        self._functions[saved_name] = SavedFunction(self[func_name], arguments, include_return)

    def _arguments(
        self, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        if kwargs:
            args = self._in_order(func_name, args, kwargs)
        function = self[func_name]
        on_device = self._device is not None and isinstance(function, GraphFunction)
        return function.placed(args) if on_device else args

    def _in_order(
        self, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Arguments, some by name, as they are called with."""
        names = parameter_names(self[func_name])
        rest = names[len(args) :]
        unknown = [name for name in kwargs if name not in rest]
        missing = [name for name in rest if name not in kwargs]
        if unknown or missing:
            problem = f"has no parameter {unknown[0]!r}" if unknown else f"needs {missing[0]!r}"
            raise ArgumentError(f"{func_name} {problem}: its parameters are {names}")
        return (*args, *(kwargs[name] for name in rest))

    # --- timing -------------------------------------------------------------------------------

    def time_evaluator(
        self, func_name: str, dev: core.Device, number: int = 10, repeat: int = 1, **options: Any
    ) -> Callable[..., Any]:
        """Something that times a function; see `tilewright.runtime.Module.time_evaluator`.

        Args:
            func_name: the function; ``"invoke_stateful"`` for one that is called by its name, with
                the arguments of `set_input`.
            dev: where it runs.
            number: how often it runs per repetition.
            repeat: how many repetitions there are.
            **options: others of `tilewright.runtime.Module.time_evaluator`.
        """
        if as_device(dev) != (self._device or cpu()):
            raise DeviceError(
                f"time_evaluator: this virtual machine runs on {self._device or cpu()}, not on "
                f"{as_device(dev)}"
            )
        if func_name == "invoke_stateful":
            return lambda name: self._timer(self[name], name, number, repeat, options)(
                *self._stateful_arguments("time_evaluator", name)
            )
        return self._timer(self[func_name], func_name, number, repeat, options)

    def _timer(
        self, function: Any, func_name: str, number: int, repeat: int, options: dict[str, Any]
    ) -> Callable[..., Any]:
        if isinstance(function, SavedFunction):
            timer = self._timer(function.function, func_name, number, repeat, options)
            return lambda: timer(*function.arguments)
        if isinstance(function, EvaluatedFunction):
            raise ArgumentError(
                f"time_evaluator: {func_name} is evaluated by Python, see Executable.reasons"
            )
        native = function.native if isinstance(function, GraphFunction) else function
        timer = TimeEvaluator(native, number, repeat, device=self._device, **options)
        if isinstance(function, GraphFunction):
            return lambda *args: timer(*function.flat(args))
        return timer

    # --- looking at the steps -----------------------------------------------------------------

    def profile(self, func_name: str, *args: Any, repeat: int = 10) -> Profile:
        """Time each kernel of a function.

        Args:
            func_name: the function.
            *args: its arguments.
            repeat: how often it runs; the medians are reported.

        Returns:
            Profile: printed, it is a table of kernels, their times, shares and FLOP/s.

        Raises:
            ArgumentError: for a function without native code, or one of a library that was
                exported without ``profiled=True``.
        """
        if self._executable is None and func_name in self._descriptions.observed:
            library = ObservedLibrary(self.module, self._descriptions, func_name, self._device)
            return profile(library, func_name, args, repeat)
        executable = self._observable("profile", func_name)
        if self._profiled is None:
            self._profiled = ObservedFunctions(executable, False, self._device)
        return profile(self._profiled, func_name, args, repeat)

    def observed(self, func_name: str) -> ObservedDescription | None:
        """What is known of a function of a library that `profile` can time; None for others."""
        return self._descriptions.observed.get(func_name)

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Call `instrument` before and after each step of each function.

        Args:
            instrument: called as ``instrument(function, name, before_run, return_value, *args)``
                with the arrays and scalars of the step; `function` and `return_value` are None.
                What it returns before a step may be `VMInstrumentReturnKind.SKIP_RUN`. None ends
                it.
        """
        self._instrument = instrument
        self._functions.clear()
        if instrument is not None and self._instrumented is None:
            executable = self._observable("set_instrument")
            self._instrumented = ObservedFunctions(executable, True, self._device)

    def _observable(self, caller: str, func_name: str | None = None) -> Executable:
        if self._executable is None:
            raise ArgumentError(
                f"{caller}: this library shows no steps; export_library(..., profiled=True) "
                "writes one that profile can time"
            )
        if func_name in self._executable.reasons:
            raise ArgumentError(f"{caller}: {func_name} is evaluated by Python")
        return self._executable


def _chosen_device(given: Any, kind: str | None) -> Device | None:
    """The device of a virtual machine; None for the host.

    Args:
        given: what the user says.
        kind: the kind of device that the module was compiled for; None for the host.

    Raises:
        DeviceError: for another one, or one that is not there.
    """
    places = given if isinstance(given, (list, tuple)) else [given]
    named = [as_device(place) for place in places if place is not None]
    others = [place for place in named if place != cpu()]
    if kind is None:
        if others:
            raise DeviceError(
                f"VirtualMachine: the module was compiled for the host, and cannot run on "
                f"{others[0]}: pass tvm.cpu(), or build it for the device, such as "
                'relax.build(mod, "opencl")'
            )
        return None
    default = make_device(kind)
    if named and not others:
        raise DeviceError(
            f"VirtualMachine: the module was compiled for {kind}: pass tvm.{default}, not "
            f"{named[0]}"
        )
    chosen = others[0] if others else default
    if chosen.device_type != default.device_type or len(others) > 1:
        listed = ", ".join(map(str, others))
        raise DeviceError(
            f"VirtualMachine: the module was compiled for one device of type {kind}, got {listed}"
        )
    driver_of(chosen, "VirtualMachine")
    return chosen


def parameter_names(function: Any) -> list[str]:
    """The names of the parameters of a function of a virtual machine."""
    if isinstance(function, (EvaluatedFunction, GraphFunction)):
        return list(function.names)
    return [parameter.name for parameter in function.parameters or ()]
