"""Write the stub of `PrimitiveMethods`, from which editors and type checkers know `Schedule.split`.

Usage: python -m tools.schedule_stubs
"""

from __future__ import annotations

import textwrap

from tools.schedule_examples import ROOT, first_sentence, parameters_of, run_example

from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive

WIDTH = 100
STUB = ROOT / "src" / "tilewright" / "tir" / "schedule" / "methods.pyi"

_HEADING = '''"""The primitives as methods, made by tools/schedule_stubs.py.

What they return is what their examples return.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.expr import Expr
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.primitive import Primitive
from tilewright.tir.schedule.symbols import BlockRV, ExprRV, LoopRV

class PrimitiveMethods:
    def _call(self, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...
'''


def stub() -> str:
    """The text of the stub."""
    return (_HEADING + "".join(map(_method, PRIMITIVES.values()))).rstrip("\n") + "\n"


def _method(primitive: Primitive) -> str:
    parameters = ["self", *parameters_of(primitive)]
    end = f") -> {run_example(primitive.name).returns}:"
    in_one_line = f"    def {primitive.name}({', '.join(parameters)}{end}"
    inner_line = f"        {', '.join(parameters)}"
    if len(in_one_line) <= WIDTH:
        heading = [in_one_line]
    elif len(inner_line) <= WIDTH:
        heading = [f"    def {primitive.name}(", inner_line, f"    {end}"]
    else:
        listed = [f"        {item}," for item in parameters]
        heading = [f"    def {primitive.name}(", *listed, f"    {end}"]
    indent = " " * 8
    summary = f'"""{first_sentence(primitive.doc)}"""'
    wrapped = textwrap.wrap(summary, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join([*heading, *wrapped]) + "\n\n"


def main() -> None:
    """Write the stub."""
    STUB.write_text(stub())


if __name__ == "__main__":
    main()
