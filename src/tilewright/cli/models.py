"""`tilewright compile|run|profile`: models as libraries, their results, and where time goes."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from tilewright.arith import Analyzer
from tilewright.cli.model_file import (
    METAVAR,
    SOURCES,
    duration,
    load_model,
    read_arrays,
    read_shapes,
)
from tilewright.error import ArgumentValueError, DeviceError, ExportError
from tilewright.ir.convert import const
from tilewright.runtime import include_directory
from tilewright.runtime.device import cpu
from tilewright.target import Target
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tune.measure.arguments import random_arguments
from tilewright.tune.report.quantities import count, seconds

_INPUT: Final = "an array of numpy: FILE.npy, in the order of the parameters, or NAME=FILE.npy"
_MODEL: Final = "a library, or a file of a model"
_TRIALS: Final = 1 << 20
"""More candidates than can be measured in any time that is given."""
_FIRST: Final = 4
"""Number of elements of a result that are shown."""


def add_to(commands: Any) -> None:
    """Add the commands."""
    compiling = commands.add_parser(
        "compile",
        help="compile a model to a library",
        description="Compile a model (.onnx, .pt2) to a library with its weights, which Python "
        "and C programs load.",
    )
    compiling.add_argument("model", type=Path, metavar=METAVAR, help="a file of a model")
    compiling.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE",
        help="the library, such as model.so; model.tar for object files",
    )  # fmt: skip
    compiling.add_argument(
        "--header",
        type=Path,
        metavar="FILE",
        help="write a header for C programs, too, with tilewright.h beside it",
    )
    compiling.add_argument(
        "--tune", type=duration, metavar="TIME",
        help="first search for faster schedules, such as 5min",
    )  # fmt: skip
    compiling.add_argument(
        "--work-dir", metavar="DIR", help="where records of tuning go (default: FILE.tuning)"
    )
    _add_target(compiling)
    compiling.set_defaults(run=run_compile)
    running = commands.add_parser(
        "run",
        help="run a model",
        description="Run a library, or a model that is compiled for that, and show its results.",
    )
    running.add_argument(
        "model", type=Path, metavar=METAVAR, help="a library, or a file of a model"
    )
    running.add_argument("--input", action="append", default=[], metavar="FILE", help=_INPUT)
    running.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help="write the result to FILE.npy; several to FILE_0.npy, FILE_1.npy, ...",
    )  # fmt: skip
    _add_target(running)
    running.set_defaults(run=run_run)
    profiling = commands.add_parser(
        "profile",
        help="time a model",
        description="Time each kernel of a model (.onnx, .pt2), or of a library of the command "
        "compile. Inputs that are not given are random.",
    )
    profiling.add_argument("model", type=Path, metavar=METAVAR, help=_MODEL)
    profiling.add_argument("--input", action="append", default=[], metavar="FILE", help=_INPUT)
    profiling.add_argument(
        "--size", action="append", default=[], metavar="NAME=NUMBER",
        help="a symbolic size of the random inputs (default: 1)",
    )  # fmt: skip
    profiling.add_argument(
        "--repeat", type=int, default=10, metavar="N", help="how often it runs (default: 10)"
    )
    _add_target(profiling)
    profiling.set_defaults(run=run_profile)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", default="llvm", help='what for, such as "llvm -mcpu=x86-64-v3" (default: llvm)'
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=SIZES",
        help="the shape of an input of a model of ONNX, such as image=1,3,height,width",
    )  # fmt: skip


@contextmanager
def _doing(what: str) -> Iterator[None]:
    """Show what is being done on standard error, if somebody sees it there."""
    from rich.console import Console

    console = Console(stderr=True)
    started = time.monotonic()
    with console.status(f"{what} ..."):
        yield
    if console.is_terminal:
        console.print(f"{what}: {seconds(time.monotonic() - started)}", highlight=False)


# --- compile ----------------------------------------------------------------------------------


def run_compile(options: argparse.Namespace) -> int:
    """Write a library, and say what is in it."""
    target = Target(options.target)
    executable = _executable(options, target)
    with _doing("writing the library"):
        try:
            path = executable.export_library(options.output, profiled=True)
            header = _write_header(executable, options.header) if options.header else None
        except OSError as error:
            raise ExportError(f"cannot write {options.output}: {error.strerror}") from None
    print(executable.stats().rstrip())
    print(f"library: {path}")
    if header:
        print(f"header: {header}")
    return 0


def _write_header(executable: Any, path: Path) -> str:
    """Write the header of a library, and beside it the one that it includes."""
    header = executable.export_header(path)
    shutil.copy(Path(include_directory(), "tilewright.h"), path.absolute().parent)
    return header


def _executable(options: argparse.Namespace, target: Target) -> Any:
    """The model that the options name, compiled; tuned before, if they say so."""
    from tilewright import relax

    with _doing(f"reading {options.model.name}"):
        module = load_model(options.model, read_shapes(options.shape))
    budget = getattr(options, "tune", None)
    if budget:
        return _tuned(options, module, target, budget)
    with _doing("compiling"):
        return relax.build(module, target=target)


def _tuned(options: argparse.Namespace, module: Any, target: Target, budget: float) -> Any:
    from tilewright.meta_schedule.relax_integration import compile_relax, tune_relax

    work_dir = options.work_dir or f"{options.output}.tuning"
    database = tune_relax(module, {}, target, work_dir, _TRIALS, max_seconds=budget)
    print(f"tuning: {count(len(database), 'record')} in {work_dir}")
    with _doing("compiling"):
        return compile_relax(database, module, target)


# --- run --------------------------------------------------------------------------------------


def run_run(options: argparse.Namespace) -> int:
    """Print the results, or write them."""
    machine = _machine(options)
    function = machine["main"]
    with _doing("running"):
        result = function(*read_arrays(options.input, _names(machine)))
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    for number, value in enumerate(results):
        array = value.numpy()
        start = ", ".join(f"{item:.6g}" for item in array.reshape(-1)[:_FIRST].tolist())
        rest = ", ..." if array.size > _FIRST else ""
        print(f"result {number}: {array.dtype} {list(array.shape)}: {start}{rest}")
        if options.output:
            print(f"written: {_write(options.output, array, number, len(results))}")
    return 0


def _write(path: Path, array: np.ndarray, number: int, total: int) -> Path:
    place = path if total == 1 else path.with_name(f"{path.stem}_{number}.npy")
    place = place.with_suffix(".npy")
    try:
        np.save(place, array)
    except OSError as error:
        raise ExportError(f"cannot write {place}: {error.strerror}") from None
    return place


def _machine(options: argparse.Namespace) -> Any:
    """What runs a library, or a model that is compiled for it."""
    from tilewright import relax

    if options.model.suffix in SOURCES:
        executable = _executable(options, Target(options.target))
        return relax.VirtualMachine(executable)
    if not options.model.is_file():
        raise ArgumentValueError(f"there is no file {options.model}")
    try:
        return relax.VirtualMachine(str(options.model))
    except OSError as error:
        raise DeviceError(f"cannot load {options.model}: {error}") from None


def _names(machine: Any) -> list[str]:
    """The parameters of ``main``."""
    from tilewright.relax.vm.virtual_machine import parameter_names

    return parameter_names(machine["main"])


# --- profile ----------------------------------------------------------------------------------


def run_profile(options: argparse.Namespace) -> int:
    """Print where time goes."""
    from tilewright import relax

    sizes = _sizes(options.size)
    if options.model.suffix in SOURCES:
        executable = _executable(options, Target(options.target))
        machine = relax.VirtualMachine(executable)
        infos = [param.struct_info for param in executable.mod["main"].params]
        inputs: Any = [(str(info.dtype), info.extents) for info in infos]
    else:
        machine = _machine(options)
        observed = machine.observed("main")
        inputs = observed and observed.inputs
    if options.input or not inputs:
        arrays: Sequence[Any] = read_arrays(options.input, _names(machine))
    else:
        arrays = random_arguments([_form(form, sizes) for form in inputs])
    if inputs is not None:
        with _doing("running"):
            table = machine.profile("main", *arrays, repeat=options.repeat)
        print(table)
        return 0
    timing = machine.time_evaluator("main", cpu(), number=1, repeat=options.repeat)(*arrays)
    print(
        f"main: {seconds(timing.median)} (median of {count(options.repeat, 'run')}), "
        f"{seconds(timing.min)} to {seconds(timing.max)}"
    )
    return 0


def _sizes(texts: Sequence[str]) -> dict[str, int]:
    """The symbolic sizes that are given.

    Raises:
        ArgumentValueError: for another form than ``NAME=NUMBER``.
    """
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not value.isdigit() or int(value) < 1:
            raise ArgumentValueError(f"--size is NAME=NUMBER, got {text!r}")
        sizes[name] = int(value)
    return sizes


def _form(described: Any, sizes: dict[str, int]) -> tuple[str, str, list[int]]:
    """The kind, dtype and shape of an argument; sizes that are not given are 1."""
    if described is None:
        raise ArgumentValueError("an input is not an array: the model needs --input NAME=FILE.npy")
    dtype, extents = described
    return "TENSOR", dtype, [_extent(extent, sizes) for extent in extents]


def _extent(extent: Any, sizes: dict[str, int]) -> int:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, str):  # in a library
        if extent.isidentifier():
            return sizes.get(extent, 1)
        raise ArgumentValueError(f"an input has {extent} elements: the model needs --input")
    known = {v: const(sizes.get(v.name, 1), v.dtype) for v in variables_of(extent)}
    return int(Analyzer().simplify(substitute(extent, known)).value)  # type: ignore[union-attr]
