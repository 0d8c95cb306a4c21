"""The result of `relax.build`: native code, to run here or to export."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ExportError
from tilewright.ir.expr import IntImm
from tilewright.ir.module import IRModule
from tilewright.relax.interpreter import CompiledKernels, Evaluator
from tilewright.relax.sizes import size_text
from tilewright.relax.vm.compile import CompiledGraphs, compile_graphs
from tilewright.relax.vm.kept_programs import KeptCode
from tilewright.relax.vm.plan import MemoryPlan
from tilewright.relax.vm.steps import CallStep, PackedCallStep, in_order
from tilewright.runtime.module import Module
from tilewright.target import Target


class Executable:
    """A compiled module.

    Attributes:
        target: the target of the compilation.
    """

    def __init__(
        self,
        target: Target,
        read: Callable[[], IRModule],
        compiled: Callable[[IRModule], CompiledGraphs],
        kept: KeptCode | None = None,
    ) -> None:
        """See `relax.build`, which makes them.

        Args:
            target: the target of the compilation.
            read: gives the module after all passes.
            compiled: compiles it.
            kept: its native code, if it was compiled in an earlier process.
        """
        self.target = target
        self._read, self._compiled, self._kept = read, compiled, kept

    @functools.cached_property
    def mod(self) -> IRModule:
        """The module after all passes, from which the code was made."""
        return self._read()

    @functools.cached_property
    def compiled(self) -> CompiledGraphs:
        """The native code, with its source."""
        return self._compiled(self.mod)

    @functools.cached_property
    def reasons(self) -> Mapping[str, str]:
        """Why graph functions are not native code, by name; they are evaluated."""
        if self._kept is not None:
            return {}  # others are not kept
        return {var.name_hint: why for var, why in self.compiled.graphs.reasons.items()}

    @functools.cached_property
    def module(self) -> Module:
        """The native functions."""
        if self._kept is not None:
            return self._kept.runtime_module(self.target, lambda: self.compiled.code)
        return self.compiled.runtime_module()

    @functools.cached_property
    def evaluator(self) -> Evaluator:
        """Interpreter of the functions without native code."""
        host = self.compiled.graphs.started.placement.host
        return Evaluator(self.mod, CompiledKernels(self.mod, host))

    def jit(self) -> Module:
        """The native functions; the code is in this process already."""
        return self.module

    def __getitem__(self, name: str) -> Any:
        return self.module[name]

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        *,
        workspace_dir: str | None = None,
        options: Sequence[str] = (),
        cc: str | None = None,
        fcompile: Any = None,
        profiled: bool = False,
        **kwargs: Any,
    ) -> str:
        """Write the functions and their constants to one library.

        See `tilewright.runtime.Module.export_library` for the other parameters; it is loaded by
        `tilewright.runtime.load_module`, and plain C programs call the functions that end in
        ``_into``.

        Args:
            profiled: whether `VirtualMachine.profile` can time the kernels in the library, for
                which it has each function a second time. Kernels and constants are there once.

        Raises:
            ExportError: if a function is not native code, or there is no linker.
        """
        for name, reason in self.reasons.items():
            if self.mod[name].global_symbol is not None:
                raise ExportError(
                    f"export_library: {name} is evaluated by Python, because {reason}; a library "
                    "holds native code only"
                )
        module = self.module
        if profiled:
            compiled = self.compiled
            again = compile_graphs(self.mod, compiled.graphs, units=compiled.units, profiled=True)
            module = again.runtime_module()
        return module.export_library(
            file_name, workspace_dir=workspace_dir, options=options, cc=cc, fcompile=fcompile,
            **kwargs,
        )  # fmt: skip

    def export_header(self, file_name: str | os.PathLike[str]) -> str:
        """Write a C header for the library of the same name.

        It has a function with plain pointers for each graph function; symbolic sizes come last::

            #include "model.h"
            int status = model_main(x, result_0, n);

        Args:
            file_name: such as ``"model.h"``; it needs ``tilewright.h`` beside it (see
                `tilewright.runtime.include_directory`).

        Returns:
            str: the path that was written.
        """
        path = os.fspath(file_name)
        kind = self.compiled.graphs.started.placement.kind
        if kind is not None:
            raise ExportError(
                f"export_header: functions for {kind} take arrays of the device, which a host of "
                "tvm-ffi has; plain C programs cannot call them"
            )
        functions = {
            symbol: self.compiled.module[name]
            for name in self.compiled.graphs.programs
            if (symbol := self.mod[name].global_symbol) is not None
        }
        from tilewright.relax.vm.c_header import c_header  # with the whole backend for C

        text = c_header(functions, os.path.splitext(os.path.basename(path))[0])
        try:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise ExportError(f"export_header: {path!r} cannot be written: {error}") from None
        return path

    def stats(self) -> str:
        """A summary: functions, kernels, constants, and the memory that a call takes."""
        compiled = self.compiled
        on_host, on_device = len(compiled.graphs.kernels), compiled.graphs.started.count
        lines = [
            f"target: {self.target}",
            f"kernels: {on_device}, {on_host} on the host" if on_device else f"kernels: {on_host}",
            f"constants: {len(compiled.constants.arrays)}, {compiled.constants.size} bytes",
        ]
        for name, program in compiled.graphs.programs.items():
            plan = compiled.graphs.plans[name]
            steps = list(in_order(program.steps))
            kernels = sum(isinstance(step, CallStep) for step in steps)
            packed = sum(isinstance(step, PackedCallStep) for step in steps)
            memory = [_memory_text(plan, "of memory")]
            memory += [
                _memory_text(part, "on the device")
                for arena, part in plan.arenas.items()
                if arena.on_device
            ]
            lines.append(
                f"{name.name_hint}: {kernels} calls, {packed} by name, {', '.join(memory)}"
            )
        lines += [f"{name}: evaluated, {reason}" for name, reason in self.reasons.items()]
        return "\n".join(lines)

    def as_text(self) -> str:
        """The native functions as a script: tensor programs that call each other."""
        return self.compiled.module.script()

    def as_python(self) -> str:
        """The same as `as_text`."""
        return self.as_text()


def _memory_text(plan: MemoryPlan, where: str) -> str:
    text = f"{size_text(plan.size)} bytes {where}"
    if not (isinstance(plan.size, IntImm) and plan.size.value == 0):
        text += f" ({size_text(plan.unshared_size)} without sharing)"
    return text
