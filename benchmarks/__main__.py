"""Measure the compiler itself, its code beside that of other packages, its tuner, or models.

python -m benchmarks compiler --help    the compiler: start-up, IR, schedules, compiling, calls
python -m benchmarks suite --help       its code, beside numpy, torch and onnxruntime
python -m benchmarks tuner --help       what the tuner finds, and how long that takes
python -m benchmarks tuners --help      how many trials the tuners of AutoTVM need
python -m benchmarks gains --help       what tuning gains over the default schedule
python -m benchmarks doors --help       the three front doors of the tuner beside each other
python -m benchmarks models --help      whole models, beside torch and onnxruntime
python -m benchmarks torch_compile --help   models through torch.compile, beside Inductor
python -m benchmarks onnx --help        the test cases of operators of ONNX: what is supported
python -m benchmarks onnx-models --help models of ONNX, quantised too, beside onnxruntime
python -m benchmarks gpu --help         its code for GPUs, beside torch
python -m benchmarks kernels --help     what kernels for CUDA devices cost, counted without one
python -m benchmarks fleet --help       tuning on many machines, simulated, and what Ray costs
python -m benchmarks                    the first two
"""

from __future__ import annotations

import importlib
import sys
from typing import Final

COMMANDS: Final = {
    "compiler": "benchmarks.compiler.command",
    "suite": "benchmarks.harness.command",
    "tuner": "benchmarks.tuner.command",
    "tuners": "benchmarks.tuners.command",
    "gains": "benchmarks.gains.command",
    "doors": "benchmarks.doors.command",
    "models": "benchmarks.models.command",
    "torch_compile": "benchmarks.torch_compile.command",
    "onnx": "benchmarks.onnx_cases.command",
    "onnx-models": "benchmarks.onnx_models.command",
    "gpu": "benchmarks.gpu.command",
    "kernels": "benchmarks.kernels.command",
    "fleet": "benchmarks.fleet.command",
}
"""The modules whose `main` takes the options of a command."""


def main(arguments: list[str]) -> None:
    command, *options = arguments or [""]
    if command and command not in COMMANDS:
        print(__doc__)
        raise SystemExit(0 if command in ("-h", "--help") else f"There is no part {command!r}.")
    for name in [command] if command else ["compiler", "suite"]:
        importlib.import_module(COMMANDS[name]).main(options)


if __name__ == "__main__":
    main(sys.argv[1:])
