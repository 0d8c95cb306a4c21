"""Translation of a module to C source."""

from __future__ import annotations

import re

from tilewright.ir.expr import Call
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import walk
from tilewright.target.codegen.c import calls, expressions, structures  # noqa: F401, emitters
from tilewright.target.codegen.c.names import c_name
from tilewright.target.codegen.c.prelude import HEADERS
from tilewright.target.codegen.c.statements import write_function
from tilewright.target.codegen.c_library import own_name
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.imported_code import imported_code


def generate_c(module: IRModule) -> str:
    """The C source of the functions of `module`, which are in the form that backends take.

    Functions with a ``global_symbol`` are exported under it, the others are internal.

    The source compiles with any C11 compiler (`cc -O2 -shared -fPIC`); with `-fopenmp` parallel
    loops run on several threads.

    Raises:
        CodegenError: for what C cannot express, such as vectors or GPU threads.
    """
    imports = imported_code(module, "c")
    # What the program brings with it is not declared as something from elsewhere.
    named = re.findall(r"\b([A-Za-z_]\w*)\s*\(", "\n".join(imports))
    helpers: dict[str, str] = {f"extern {name}": "" for name in named}
    prototypes, definitions = [], []
    functions = {v: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}
    called = {name for function in functions.values() for name in _called(function)}
    for var, function in functions.items():
        linkage = "static" if var.name_hint in called else "static inline"
        if function.global_symbol is not None:
            weak = bool(function.attrs.get("tir.is_weak", False))
            linkage = "TW_WEAK TW_EXPORT" if weak else "TW_EXPORT"
        name = c_name(function.global_symbol or own_name(var.name_hint))
        prototype, definition = write_function(name, function, linkage, helpers)
        prototypes.append(f"{prototype};")
        definitions.append(definition)
    parts = [HEADERS, *imports, *filter(None, helpers.values()), "\n".join(prototypes) + "\n"]
    return "\n".join([*parts, "\n\n".join(definitions), ""])


def _called(function: PrimFunc) -> set[str]:
    """The names of the functions of the module that `function` calls."""
    found = (node.op for node in walk(function.body) if isinstance(node, Call))
    return {op.name_hint for op in found if isinstance(op, GlobalVar)}
