"""The `c` backend: readable C11 that needs nothing but the C library."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.target.codegen.c.names import c_name
from tilewright.target.codegen.c.prelude import ABI, HEADERS
from tilewright.target.codegen.c.statements import FunctionEmitter
from tilewright.tir.function import PrimFunc


def generate_c(module: IRModule) -> str:
    """The C source of the functions of `module`, which are in the form that backends take.

    The source compiles with any C11 compiler (`cc -O2 -shared -fPIC`); with `-fopenmp` parallel
    loops run on several threads.

    Raises:
        CodegenError: for what C cannot express, such as vectors or GPU threads.
    """
    helpers: dict[str, str] = {}
    prototypes, definitions = [], []
    for var, function in module.functions.items():
        if isinstance(function, PrimFunc):
            name = c_name(var.name_hint)
            prototype, definition = FunctionEmitter(helpers).function(name, function)
            prototypes.append(f"{prototype};")
            definitions.append(definition)
    parts = [HEADERS, ABI, *helpers.values(), "\n".join(prototypes) + "\n"]
    return "\n".join([*parts, "\n\n".join(definitions), ""])
