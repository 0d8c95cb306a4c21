"""Records of configs: a line of JSON each.

The form is that of AutoTVM 0.8 and later, whose files are read::

    {"input": ["llvm", "matmul", [512, 512, 512], {}],
     "config": {"index": 17, "code_hash": null, "entity": [["tile_y", "sp", [-1, 8]], ...]},
     "result": [[0.0021, 0.0022], 0, 0.41, 1795420000.0],
     "version": 0.2, "tvm_version": "0.18.0"}

That is: target, template, arguments; the values of the knobs; seconds per run, error number,
seconds of measuring, time. A line with ``"supersedes": true`` is of a config that was measured
before, and again more carefully: the lines before it about that config no longer count. The times
of a line with ``"estimated": true`` are those of a model of a device that was not there. Reading a
record runs no code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import tilewright
from tilewright.autotvm.measure import (
    EstimatedResult,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    RecordedTask,
)
from tilewright.autotvm.task.dispatcher import rank_of
from tilewright.autotvm.task.space import ConfigEntity
from tilewright.autotvm.task.space.knob import is_data
from tilewright.autotvm.task.workload import hashable
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DatabaseError,
    RecordError,
)
from tilewright.tune.database.base import SkippedLine, report
from tilewright.tune.database.line_file import Line, LineFile
from tilewright.tune.database.tvm_lines import read_target

VERSION: Final = 0.2
"""The version of the form of a line."""

FAILED_SECONDS: Final = 1e9
"""What the times of a config that failed are in a line."""

Pair = tuple[MeasureInput, MeasureResult]


class RecordLine(NamedTuple):
    """What a line says.

    Attributes:
        measured: the config.
        result: what came of it.
        supersedes: whether lines before it about the same config no longer count.
        number: of the line, from 1 on.
    """

    measured: MeasureInput
    result: MeasureResult
    supersedes: bool = False
    number: int = 0


# --- lines --------------------------------------------------------------------------------------


def encode(
    inp: MeasureInput, result: MeasureResult, protocol: str = "json", *, supersedes: bool = False
) -> str:
    """A record as a line of JSON.

    Args:
        inp: the config.
        result: what came of it.
        protocol: ``"json"``.
        supersedes: whether lines before it about the same config no longer count.

    Raises:
        ArgumentValueError: for another protocol.
    """
    require_json(protocol)
    task = inp.task
    failed = int(result.error_no) != MeasureErrorNo.NO_ERROR
    form = {
        "input": [str(inp.target), task.name, task.args, task.kwargs],
        "config": inp.config.to_json_dict(),
        "result": [
            [FAILED_SECONDS] if failed else list(result.costs),
            int(result.error_no), result.all_cost, result.timestamp,
        ],
        "version": VERSION,
        "tvm_version": tilewright.__version__,
    }  # fmt: skip
    if supersedes:
        form["supersedes"] = True
    if result.is_estimate:
        form["estimated"] = True
    return json.dumps(form)


def decode(row: str, protocol: str = "json") -> Pair:
    """The record that a line says.

    Args:
        row: the line.
        protocol: ``"json"``.

    Returns:
        The config and what came of it.

    Raises:
        RecordError: for a line that is none, or of another version.
    """
    require_json(protocol)
    found = parsed(row)
    return found.measured, found.result


def parsed(row: str | bytes) -> RecordLine:
    """The record that a line says; see `decode`."""
    return _read(Line(1, row if isinstance(row, bytes) else row.encode("utf-8", "surrogatepass")))


def _read(line: Line) -> RecordLine:
    form = line.parsed()
    _require_version(form)
    try:
        target, name, args, kwargs = form["input"]
        costs, number, all_cost, timestamp = form["result"]
        config = ConfigEntity.from_json_dict(form["config"])
        is_task = isinstance(name, str) and isinstance(args, list) and isinstance(kwargs, dict)
        if not is_task or not is_data(args):
            raise TypeError(f"no task: {form['input']}")
        task = RecordedTask(name, hashable(args), kwargs)
        measured = MeasureInput(read_target(target), task, config)
        kind = EstimatedResult if form.get("estimated") is True else MeasureResult
        result = kind(*_outcome(costs, number), float(all_cost), float(timestamp))
    except RecordError:
        raise
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise RecordError(f"malformed record: {error!r}") from None
    return RecordLine(measured, result, form.get("supersedes") is True, line.number)


def require_json(protocol: str) -> None:
    """Refuse protocols whose records may run code when they are read."""
    if protocol != "json":
        raise ArgumentValueError(
            f"records are written and read with protocol='json', got {protocol!r}; reading a "
            "pickle may run code"
        )


def _require_version(form: Any) -> None:
    version = form.get("version") if isinstance(form, dict) else None
    if version == VERSION:
        return
    if isinstance(form, dict) and "input" in form and isinstance(version, (int, float)):
        raise RecordError(f"version {version} is another one than is read here ({VERSION})")
    if isinstance(form, dict) and "v" in form:
        raise RecordError(f"version {form['v']} is older than what is read here ({VERSION})")
    raise RecordError("this is not a record of AutoTVM: it has no version and no input")


def _outcome(costs: Any, number: Any) -> tuple[tuple[Any, ...], int]:
    """Times and error number."""
    known = MeasureErrorNo(number) if number in list(MeasureErrorNo) else None
    number = MeasureErrorNo.UNKNOWN_ERROR if known is None else known
    if number != MeasureErrorNo.NO_ERROR:
        return (f"it failed: {number.name}",), number
    times = tuple(float(seconds) for seconds in costs)
    if not times or not all(0 < seconds < FAILED_SECONDS for seconds in times):
        raise ValueError(f"{costs} are not times in seconds")
    return times, number


# --- files --------------------------------------------------------------------------------------


def load_from_file(filepath: Any) -> Iterator[Pair]:
    """The records of a file, in order.

    Lines that cannot be used (torn, garbage, of another version) are left out and logged with
    their numbers. So are those that a later line supersedes, without a word.

    Args:
        filepath: the name of the file, or an open text file.

    Raises:
        DatabaseError: if there is no such file, or it cannot be read.
    """
    skipped: list[SkippedLine] = []
    found = read_lines(filepath, skipped)
    report(skipped)
    return ((line.measured, line.result) for line in standing(found))


def read_lines(filepath: Any, skipped: list[SkippedLine]) -> list[RecordLine]:
    """All records of a file.

    Args:
        filepath: see `load_from_file`.
        skipped: gets the lines that cannot be used.
    """
    found: list[RecordLine] = []
    path, lines = _lines(filepath)
    for line in lines:
        try:
            if line.is_torn or not line.is_comment:
                found.append(_read(line))
        except RecordError as error:
            skipped.append(SkippedLine(path, line.number, str(error)))
    return found


def _lines(filepath: Any) -> tuple[Path, Iterable[Line]]:
    if hasattr(filepath, "read"):
        name = Path(str(getattr(filepath, "name", "records")))
        texts = (text if isinstance(text, bytes) else text.encode() for text in filepath)
        return name, [Line(n, text) for n, text in enumerate(texts, 1) if text.strip()]
    if not isinstance(filepath, (str, os.PathLike)):
        raise ArgumentError(f"expected the name of a file of records, got {filepath!r}")
    path = Path(os.fspath(filepath))
    if not path.is_file():
        raise DatabaseError(f"there is no record file {path}")
    return path, LineFile(path).read_new()


def standing(lines: Iterable[RecordLine]) -> list[RecordLine]:
    """The lines without those that a later one about the same config supersedes."""
    ordered = list(lines)
    keys = [measure_str_key(line.measured) for line in ordered]
    last = {key: n for n, key in enumerate(keys) if ordered[n].supersedes}
    return [line for n, line in enumerate(ordered) if n >= last.get(keys[n], 0)]


def append(path: str | os.PathLike[str], lines: Iterable[str]) -> None:
    """Add lines to a file; they are on the disk when it returns.

    Raises:
        DatabaseError: if they cannot be written; the file is then as it was.
    """
    LineFile(path).append([line.encode("ascii") for line in lines])


# --- choices ------------------------------------------------------------------------------------


def measure_str_key(inp: MeasureInput, include_config: bool = True) -> str:
    """A text that is the same for records of the same task, and of the same config of it.

    Args:
        inp: the config.
        include_config: leave it out to get the same text for all configs of a task.
    """
    task = inp.task
    parts = [str(inp.target), task.name, task.args, task.kwargs]
    if include_config:
        parts.append(inp.config.to_json_dict()["entity"])
    return json.dumps(parts)


def split_workload(in_file: str | os.PathLike[str], clean: bool = True) -> list[str]:
    """Write the records of each task to a file of its own, ``<in_file>.000.wkl`` and so on.

    Args:
        in_file: a file of records.
        clean: leave out records of a config that has one already.

    Returns:
        The names of the files.
    """
    tasks: dict[str, dict[Any, str]] = {}
    for number, (inp, result) in enumerate(load_from_file(in_file)):
        own = tasks.setdefault(measure_str_key(inp, include_config=False), {})
        own.setdefault(measure_str_key(inp) if clean else number, encode(inp, result))
    names = [f"{os.fspath(in_file)}.{number:03d}.wkl" for number in range(len(tasks))]
    for name, lines in zip(names, tasks.values(), strict=True):
        Path(name).unlink(missing_ok=True)
        append(name, lines.values())
    return names


def pick_best(in_file: str | os.PathLike[str], out_file: str | os.PathLike[str]) -> None:
    """Append the fastest record of each task and target in a file to another file.

    Args:
        in_file: a file of records.
        out_file: where they go.
    """
    best: dict[str, Pair] = {}
    for inp, result in load_from_file(in_file):
        key = measure_str_key(inp, include_config=False)
        if not result.error_no and (key not in best or rank_of(result) < rank_of(best[key][1])):
            best[key] = inp, result
    append(out_file, [encode(*pair) for pair in best.values()])
