"""Models that the command line names: files of ONNX, exported programs of torch, and libraries."""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule

METAVAR: Final = "MODEL"
SOURCES: Final = {".onnx": "onnx", ".pt2": "torch"}
"""Suffixes of files of models, and the packages that read them."""


def load_model(path: Path, shapes: dict[str, list[int | str]] | None = None) -> IRModule:
    """The graph of a model.

    Args:
        path: a file of ONNX (.onnx), or what `torch.export.save` has written (.pt2).
        shapes: those of inputs in place of the ones that the file has; for files of ONNX.

    Raises:
        ArgumentValueError: if there is no such file, or nothing that reads it.
        UnsupportedOperatorError: if there are operators without a counterpart.
    """
    if path.suffix not in SOURCES:
        raise ArgumentValueError(f"{path} is not a model: the suffix is .onnx or .pt2")
    if not path.is_file():
        raise ArgumentValueError(f"there is no file {path}")
    package = SOURCES[path.suffix]
    try:
        return _of_onnx(path, shapes) if package == "onnx" else _of_torch(path, shapes)
    except ModuleNotFoundError as error:
        if error.name not in ("onnx", "torch"):
            raise
        raise ArgumentValueError(
            f"{path} needs the package {error.name}: pip install tilewright[{package}]"
        ) from None


def _of_onnx(path: Path, shapes: dict[str, list[int | str]] | None) -> IRModule:
    from tilewright.relax.frontend.onnx import from_onnx

    return from_onnx(path, shapes)


def _of_torch(path: Path, shapes: dict[str, list[int | str]] | None) -> IRModule:
    if shapes:
        raise ArgumentValueError("--shape is for files of ONNX; an exported program has its shapes")
    if not zipfile.is_zipfile(path):
        raise ArgumentValueError(
            f"{path} is not an exported program: torch.export.save writes them"
        )
    import torch

    from tilewright.relax.frontend.torch import from_exported_program

    try:
        program = torch.export.load(path)
    except (RuntimeError, ValueError, KeyError) as error:
        lines = str(error).splitlines() or [""]
        raise ArgumentValueError(f"{path} is not an exported program: {lines[0]}") from None
    return from_exported_program(program, unwrap_unit_return_tuple=True)


def read_shapes(texts: Iterable[str]) -> dict[str, list[int | str]]:
    """Shapes of inputs from ``NAME=1,3,batch``.

    Raises:
        ArgumentValueError: for another form.
    """
    shapes: dict[str, list[int | str]] = {}
    for text in texts:
        name, equals, sizes = text.rpartition("=")
        if not equals or not name:
            raise ArgumentValueError(f"--shape is NAME=SIZE,SIZE,..., got {text!r}")
        listed = [size.strip() for size in sizes.split(",")] if sizes.strip() else []
        shapes[name] = [int(size) if size.isdigit() else size for size in listed]
    return shapes


def read_arrays(texts: Iterable[str], names: list[str]) -> list[np.ndarray]:
    """The arguments of a model from ``FILE.npy``, in order, or ``NAME=FILE.npy``.

    Raises:
        ArgumentValueError: if a file cannot be read, or if an argument is missing.
    """
    arrays: dict[str, np.ndarray] = {}
    for text in texts:
        name, equals, place = text.rpartition("=")
        if not equals or Path(text).is_file():
            place = text
            name = next((name for name in names if name not in arrays), "")
        if name not in names or name in arrays:
            raise ArgumentValueError(
                f"--input {text}: the model takes {', '.join(names) or 'nothing'}, each once"
            )
        arrays[name] = _array(place)
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ArgumentValueError(f"the model needs --input {missing[0]}=FILE.npy, too")
    return [arrays[name] for name in names]


def _array(place: str) -> np.ndarray:
    try:
        return np.load(place, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "it is not an array of numpy"
        raise ArgumentValueError(f"cannot read {place}: {reason}") from None


def duration(text: str) -> float:
    """Seconds, from a number with a unit: ``90``, ``90s``, ``5min``, ``1h``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h)?", text)
    seconds = float(match[1]) * {"min": 60, "h": 3600}.get(match[2], 1) if match else 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 5min or 1h, got {text!r}")
    return seconds
