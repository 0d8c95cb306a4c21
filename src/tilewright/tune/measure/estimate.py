"""Candidates for a GPU that this machine does not have: compiled, and their times estimated.

NVRTC compiles the kernels for the architecture of the target, which finds those that cannot be
compiled and tells the registers of each. The result is the time that the analytical model predicts.
Its records say that it was not measured: see `TuningRecord.is_estimate`.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Final

from tilewright.ir.module import IRModule
from tilewright.runtime.device import device
from tilewright.runtime.module import Module
from tilewright.target import Target
from tilewright.target.codegen.device.compile import CompiledDeviceModule
from tilewright.target.codegen.device.nvrtc import DEFAULT_ARCHITECTURE, registers_of_kernels
from tilewright.target.gpu import figures_of
from tilewright.tir.function import PrimFunc

SUFFIX: Final = ".estimate"
"""The end of the names of files that have an estimate in place of code."""


def is_estimated(device_type: str) -> bool:
    """Whether times of candidates for a kind of device are estimated here."""
    return device_type == "cuda" and not device(device_type).exist


def estimated_machine(target: Target) -> dict[str, str]:
    """What records of estimates say in place of a machine."""
    return {"estimate": f"analytical model of {target.arch or DEFAULT_ARCHITECTURE}"}


def write_estimate(mod: IRModule, module: Module, target: Target, directory: str) -> str:
    """Compile the kernels of a module for their architecture, and write their estimated time.

    Args:
        mod: the scheduled program.
        module: what it was built to.
        target: names the architecture.
        directory: where the file goes, in a directory of its own.

    Returns:
        The path of the file.

    Raises:
        CodegenError: if NVRTC refuses a kernel.
    """
    seconds = _seconds(mod, module, target)
    own = Path(tempfile.mkdtemp(dir=directory))
    path = own / f"candidate{SUFFIX}"
    path.write_text(json.dumps({"seconds": seconds, "machine": estimated_machine(target)}))
    return os.fspath(path)


def read_estimate(path: str) -> tuple[float, dict[str, str]]:
    """The seconds, and what records say in place of a machine."""
    found = json.loads(Path(path).read_text())
    return float(found["seconds"]), found["machine"]


def _seconds(mod: IRModule, module: Module, target: Target) -> float:
    from tilewright.tune.cost_model.accelerator import estimate
    from tilewright.tune.feature.read_program import read_program

    registers: list[int] = []
    if isinstance(module.code, CompiledDeviceModule):
        code = module.code.device_code
        known = registers_of_kernels(code.source, code.architecture)
        in_order = sorted(known, key=lambda name: code.source.find(f" {name}("))
        registers = [known[name] for name in in_order]
    figures = figures_of(target)
    functions = [func for func in mod.functions.values() if isinstance(func, PrimFunc)]
    told = registers if len(functions) == 1 else []
    cycles = sum(estimate(read_program(func), figures, told) for func in functions)
    return cycles / figures.clock
