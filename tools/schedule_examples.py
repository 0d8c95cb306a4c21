"""Runs the examples in the docstrings of schedule primitives, and tells what users see of one."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import runpy
import textwrap
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tilewright import tir
from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive
from tilewright.tir.schedule.symbols import BlockRV, LoopRV
from tilewright.tir.schedule.traces.instruction import Instruction

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "docs" / "schedule" / "programs.py"
_SECTION = re.compile(r"^Example::\n\n(?P<code>(?:(?: {4}.*)?\n?)+)", re.MULTILINE)
_PROGRAM = re.compile(r"tir\.Schedule\((\w+)")
_USER_TYPES = {
    "For": "LoopRV",
    "BlockRealize": "BlockRV | str",
    "Number": "int | Expr",
    "list": "Sequence",
}


class Example(NamedTuple):
    """An example that has run.

    Attributes:
        code: its text.
        program: the function that it schedules.
        schedule: the schedule at its end.
        printed: what it has printed.
        returns: the type of what the primitive has returned.
    """

    code: str
    program: tir.PrimFunc
    schedule: tir.Schedule
    printed: str
    returns: str


@cache
def programs() -> dict[str, tir.PrimFunc]:
    """The programs that examples schedule, by name."""
    names = runpy.run_path(str(PROGRAMS))
    return {name: item for name, item in names.items() if isinstance(item, tir.PrimFunc)}


def example_code(primitive: Primitive) -> str:
    """The code of the example in the docstring of a primitive."""
    found = _SECTION.search(primitive.doc)
    if found is None:
        raise LookupError(
            f"the docstring of the primitive `{primitive.name}` needs a section `Example::`: "
            f"a few lines that apply it to a program of {PROGRAMS.relative_to(ROOT)}"
        )
    return textwrap.dedent(found["code"]).strip("\n")


@cache
def run_example(name: str) -> Example:
    """Run the example of a primitive."""
    code = example_code(PRIMITIVES[name])
    namespace: dict[str, Any] = {"tir": tir, **programs()}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"<example of {name}>", "exec"), namespace)
    sch = namespace["sch"]
    applied = [inst for inst in sch.trace if inst.kind.name == name]
    if not applied:
        raise LookupError(f"the example of the primitive `{name}` does not apply it")
    program = _PROGRAM.search(code)
    assert program is not None
    return Example(code, programs()[program[1]], sch, printed.getvalue(), _returned(applied[-1]))


def _returned(inst: Instruction) -> str:
    """The type of what an instruction has returned."""
    kinds = {
        "BlockRV" if isinstance(output, BlockRV)
        else "LoopRV" if isinstance(output, LoopRV)
        else "ExprRV"
        for output in inst.outputs
    }  # fmt: skip
    if not kinds:
        return "None"
    (kind,) = kinds
    return f"list[{kind}]" if inst.returns_list else kind


def first_sentence(doc: str) -> str:
    """The first sentence of a docstring, in one line."""
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def parameters_of(primitive: Primitive) -> list[str]:
    """The parameters of a method of `Schedule` with the types of what users pass."""
    texts = []
    only_by_name = False
    for parameter in primitive.signature.parameters.values():
        variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not only_by_name:
            texts.append("*")
        only_by_name |= variadic or parameter.kind is inspect.Parameter.KEYWORD_ONLY
        text = f"{'*' if variadic else ''}{parameter.name}: {_user_type(parameter.annotation)}"
        if parameter.default is not inspect.Parameter.empty:
            text += f" = {_literal(parameter.default)}"
        texts.append(text)
    return texts


def _literal(default: Any) -> str:
    return json.dumps(default) if isinstance(default, str) else repr(default)


def _user_type(annotation: str) -> str:
    without_location = annotation.replace("For | ComputeLocation", "For")
    return re.sub(r"\w+", lambda word: _USER_TYPES.get(word[0], word[0]), without_location)
