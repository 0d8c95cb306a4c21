"""Measure the compiler itself, its code beside that of other packages, its tuner, or models.

python -m benchmarks compiler --help    the compiler: start-up, IR, schedules, compiling, calls
python -m benchmarks suite --help       its code, beside numpy, torch and onnxruntime
python -m benchmarks tuner --help       what the tuner finds, and how long that takes
python -m benchmarks tuners --help      how many trials the tuners of AutoTVM need
python -m benchmarks gains --help       what tuning gains over the default schedule
python -m benchmarks models --help      whole models, beside torch and onnxruntime
python -m benchmarks fleet --help       tuning on many machines, simulated, and what Ray costs
python -m benchmarks                    the first two
"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> None:
    command, *options = arguments or [""]
    if command == "tuner":
        from benchmarks.tuner.command import main as measure_tuner

        measure_tuner(options)
        return
    if command == "tuners":
        from benchmarks.tuners.command import main as compare_tuners

        compare_tuners(options)
        return
    if command == "gains":
        from benchmarks.gains.command import main as measure_gains

        measure_gains(options)
        return
    if command == "fleet":
        from benchmarks.fleet.command import main as measure_fleets

        measure_fleets(options)
        return
    if command == "models":
        from benchmarks.models.command import main as measure_models

        measure_models(options)
        return
    if command not in ("", "compiler", "suite"):
        print(__doc__)
        raise SystemExit(0 if command in ("-h", "--help") else f"There is no part {command!r}.")
    if command != "suite":
        from benchmarks.compiler.command import main as measure_compiler

        measure_compiler(options)
    if command != "compiler":
        from benchmarks.harness.command import main as measure_suite

        measure_suite(options)


if __name__ == "__main__":
    main(sys.argv[1:])
