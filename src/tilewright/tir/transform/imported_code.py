"""Code in another language that a program brings with it, for the C functions that it calls.

A loop or a block with the annotation ``pragma_import_llvm`` or ``pragma_import_c`` has the text of
functions that ``T.call_extern`` calls. Lowering may drop the loop, so the text becomes an attribute
of the function, where code generation finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tilewright.error import LoweringError
from tilewright.ir.expr import StringImm
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import walk
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import AttrStmt, Block, For

_PRAGMA: Final = "pragma_import_"
_ATTRIBUTE: Final = "tir.import_"
LANGUAGES: Final = ("llvm", "c")


def with_imported_code(func: PrimFunc) -> PrimFunc:
    """`func` with the code that its loops and blocks import as attributes of its own.

    Raises:
        LoweringError: for code that is not text.
    """
    found: dict[str, dict[str, None]] = {}
    for language, code in _pragmas(func):
        text = code.value if isinstance(code, StringImm) else code
        if not isinstance(text, str):
            raise LoweringError(f"{_PRAGMA}{language}: the code is a text, got {code!r}")
        found.setdefault(language, {})[text] = None
    if not found:
        return func
    return func.with_attrs({f"{_ATTRIBUTE}{name}": tuple(texts) for name, texts in found.items()})


def imported_code(module: IRModule, language: str) -> tuple[str, ...]:
    """What the functions of a lowered module import, each text once.

    `language` is one of `LANGUAGES`.
    """
    functions = module.functions.values()
    return tuple(
        dict.fromkeys(str(t) for f in functions for t in f.attrs.get(_ATTRIBUTE + language, ()))
    )


def _pragmas(func: PrimFunc) -> Iterator[tuple[str, Any]]:
    for node in walk(func.body):
        notes: Mapping[str, Any] = {}
        if isinstance(node, (For, Block)):
            notes = node.annotations
        elif isinstance(node, AttrStmt):
            notes = {node.attr_key: node.value}
        for language in LANGUAGES if notes else ():
            if _PRAGMA + language in notes:
                yield language, notes[_PRAGMA + language]
