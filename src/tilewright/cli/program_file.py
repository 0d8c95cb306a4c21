"""Programs that the command line names: FILE or FILE:NAME."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tilewright.error import ArgumentValueError, DatabaseError, RecordError, TVMError
from tilewright.ir.module import IRModule
from tilewright.tir.function import PrimFunc
from tilewright.tune.workload import Workload

Program = IRModule | PrimFunc

METAVAR: Final = "FILE[:NAME]"


def load_program(place: str) -> Program:
    """The program that is meant.

    Raises:
        ArgumentValueError: if there is none, or if several could be meant.
    """
    path, name = _split(place)
    if not path.is_file():
        raise ArgumentValueError(f"there is no file {path}")
    if path.suffix == ".json":
        return _of_workloads(path, name)
    if path.suffix != ".py":
        raise ArgumentValueError(f"{path} is neither a Python file nor a file of workloads (.json)")
    return _of_python(path, name)


def _split(place: str) -> tuple[Path, str | None]:
    file, colon, name = place.rpartition(":")
    if not colon or Path(place).is_file():
        return Path(place), None
    return Path(file), name


def _of_python(path: Path, name: str | None) -> Program:
    found = run_file(path)
    programs = {key: value for key, value in found.items() if isinstance(value, Program)}
    if name is None:
        distinct = list({id(value): value for value in programs.values()}.values())
        if len(distinct) == 1:
            return distinct[0]
        if not distinct:
            raise ArgumentValueError(
                f"{path} has no tensor program among its global names; a function that returns one "
                "is named as FILE:FUNCTION"
            )
        raise ArgumentValueError(
            f"{path} has several tensor programs: pick one, as in {path}:{next(iter(programs))} "
            f"(there are {', '.join(programs)})"
        )
    if name not in found:
        known = f"; it has {', '.join(programs)}" if programs else ""
        raise ArgumentValueError(f"{path} has no {name!r}{known}")
    value = found[name]
    return value if isinstance(value, Program) else _made_by(value, f"{path}:{name}")


def run_file(path: Path) -> dict[str, Any]:
    """The global names of a Python file, which is run.

    Raises:
        ArgumentValueError: if it raises an exception.
    """
    # Beside the file may be others that it imports.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        return runpy.run_path(str(path), run_name=path.stem)
    except (Exception, SystemExit) as error:
        raise _while_running(path, error) from error
    finally:
        sys.path.pop(0)


def _made_by(function: Any, name: str) -> Program:
    if not isinstance(function, Callable):
        raise ArgumentValueError(f"{name} is not a tensor program, but a {type(function).__name__}")
    try:
        program = function()
    except (Exception, SystemExit) as error:
        raise _while_running(name, error) from error
    if not isinstance(program, Program):
        raise ArgumentValueError(
            f"{name}() returns a {type(program).__name__}, no PrimFunc or IRModule"
        )
    return program


def _while_running(what: Any, error: BaseException) -> ArgumentValueError:
    lines = str(error).strip().splitlines()
    return ArgumentValueError(f"{what}: {type(error).__name__}: {lines[0] if lines else ''}")


def _of_workloads(path: Path, name: str | None) -> Program:
    found: dict[str, Workload] = {}
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise DatabaseError(f"cannot read {path}: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            workload = Workload.from_json(json.loads(line))
        except (ValueError, TVMError) as error:
            if name is None:
                raise RecordError(f"{path}:{number}: {error}") from None
            continue
        if name is None or workload.key.startswith(name.lower()):
            found[workload.key] = workload
    if len(found) != 1:
        known = ", ".join(found) or "none"
        raise ArgumentValueError(
            f"{path}: expected one workload, found {known}; pick one by the first digits of its "
            "hash, as in FILE:1a2b"
        )
    return next(iter(found.values())).mod
