"""The functions that compiled code calls when an argument has the wrong kind or dtype.

The names of kinds and dtypes would otherwise be repeated in each function for each argument. They
are the same for all modules: a backend may compile them once and leave them out of the modules.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import HANDLE, INT32, INT64, PrimType
from tilewright.ir.expr import Expr, Select, StringImm, Var
from tilewright.ir.module import GlobalVar
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import IfThenElse, LetStmt

KIND_ERROR: Final = GlobalVar("tilewright_raise_kind_error")
DTYPE_ERROR: Final = GlobalVar("tilewright_raise_dtype_error")
DEVICE_ERROR: Final = GlobalVar("tilewright_raise_device_error")

COLD: Final = {"tir.is_cold": const(True)}
"""The attribute of functions that hardly ever run, so that backends do not dwell on them."""

SHARED: Final = {**COLD, "tir.is_shared": const(True)}
"""The attributes of functions that all modules have alike."""


def kind_error_function() -> PrimFunc:
    """The function that raises the error of an argument of the wrong kind.

    Its parameters are the place, what was expected (both strings), and the type index that came.
    """
    where, expected = Var("where", HANDLE), Var("expected", HANDLE)
    index = Var("type_index", INT32)
    name: Expr = StringImm("an object")
    for kind, text in abi.TYPE_NAMES.items():
        name = Select(index.equal(kind), StringImm(text), name)
    body = abi.raise_error("TypeError", "%s expected %s, got %s", where, expected, name)
    return PrimFunc((where, expected, index), body, PrimType(INT32), attrs=SHARED)


def device_error_function() -> PrimFunc:
    """The function that raises the error of an array on the wrong device.

    Its parameters are the place, the name of the right type of devices (both strings), its number
    if that is known, otherwise -1, and the type and the number of the device where the array is.
    """
    where, wanted, number = Var("where", HANDLE), Var("wanted", HANDLE), Var("number", INT32)
    kind, found = Var("kind", INT32), Var("found", INT32)
    name: Expr = StringImm("a device of another type")
    for device_type, text in abi.DEVICE_NAMES.items():
        name = Select(kind.equal(device_type), StringImm(text), name)
    head = "%s the array is on %s(%lld), and the function "
    any_device = abi.raise_error(
        "ValueError", head + "runs on %s; copy it there: x.copyto(tvm.%s())",
        where, name, cast(INT64, found), wanted, wanted,
    )  # fmt: skip
    that_device = abi.raise_error(
        "ValueError", head + "runs where its first array is, on %s(%lld); copy one of them",
        where, name, cast(INT64, found), wanted, cast(INT64, number),
    )  # fmt: skip
    body = IfThenElse(number < 0, any_device, that_device)
    params = (where, wanted, number, kind, found)
    return PrimFunc(params, body, PrimType(INT32), attrs=SHARED)


def dtype_error_function() -> PrimFunc:
    """The function that raises the error of an array of the wrong dtype.

    Its parameters are the place, the expected dtype (both strings), and the `DTYPE_WORD`.
    """
    where, expected = Var("where", HANDLE), Var("expected", HANDLE)
    word = Var("word", INT32)
    code, bits, lanes = word & 0xFF, (word >> 8) & 0xFF, (word >> 16) & 0xFFFF
    chosen: Expr = StringImm("float8 or smaller of")
    for text, number in abi.DTYPE_CODES.items():
        chosen = Select(code.equal(number), StringImm(text), chosen)
    name = Var("name", HANDLE)
    head = "%s expected an array of dtype %s, got %s"
    values = (where, expected, name)
    scalar = IfThenElse(
        code.equal(abi.DTYPE_CODES["bool"]),
        abi.raise_error("TypeError", head, *values),
        abi.raise_error("TypeError", head + "%lld", *values, cast(INT64, bits)),
    )
    vector = abi.raise_error(
        "TypeError", head + "%lldx%lld", *values, cast(INT64, bits), cast(INT64, lanes)
    )
    body = LetStmt(name, chosen, IfThenElse(lanes > 1, vector, scalar))
    return PrimFunc((where, expected, word), body, PrimType(INT32), attrs=SHARED)
