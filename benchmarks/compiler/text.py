"""Printing and parsing scripts."""

from __future__ import annotations

import tilewright as tvm
from benchmarks.compiler.measure import Figure, scaled, seconds
from benchmarks.compiler.programs import chain, tile
from tilewright import te
from tilewright.ir import walk
from tilewright.script import from_source


def measure(repeat: int) -> list[Figure]:
    program = chain()
    function = te.create_prim_func(list(program.arguments))
    s = te.create_schedule(program.arguments[-1].op)
    for C in program.products:
        tile(s, C)
    lowered = tvm.lower(s, list(program.arguments))["main"]
    rows = []
    for name, func in (("blocks of the chain", function), ("lowered tiles", lowered)):
        text = func.script()
        note = f"{len(text.splitlines())} lines, {sum(1 for _ in walk(func))} nodes"
        rows.append(Figure(f"print {name}", scaled(seconds(func.script, repeat, 3), 1e3), "ms",
                           note=note))  # fmt: skip
        parse = seconds(lambda text=text: from_source(text), repeat, 3)
        rows.append(Figure(f"parse {name}", scaled(parse, 1e3), "ms"))
    return rows
