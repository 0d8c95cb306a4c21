"""The data of constants as text: what ``script(show_meta=True)`` writes before a program.

The text is JSON, with the elements of an array as base64 of its bytes in row-major order,
least significant byte first. Reading it executes nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import numpy as np

from tilewright.error import ArgumentError
from tilewright.ir.dtype import DType
from tilewright.relax.expr import Constant

CONSTANTS: Final = "relax.expr.Constant"
"""The key of the list of constants."""

OMITTED_COMMENT: Final = "# Metadata omitted. Use show_meta=True in script() method to show it."


class OmittedMetadata:
    """What the name ``metadata`` stands for where a text does not define it."""

    def __getitem__(self, key: object) -> NoReturn:
        raise ArgumentError(
            "the constants are not in this text: print the program with script(show_meta=True)"
        )


def metadata_text(prefix: str, constants: Sequence[Constant]) -> str:
    """The call of `metadata` that gives the constants back; `prefix` is the name of `R`."""
    entries = [_entry(constant) for constant in constants]
    return f"{prefix}.metadata('{json.dumps({CONSTANTS: entries})}')"


def _entry(constant: Constant) -> dict[str, Any]:
    elements = np.ascontiguousarray(constant.data.numpy())
    data = base64.b64encode(_little_endian(elements).tobytes()).decode("ascii")
    return {"dtype": str(constant.data.dtype), "shape": list(constant.data.shape), "data": data}


def _little_endian(elements: np.ndarray) -> np.ndarray:
    return elements.byteswap() if sys.byteorder == "big" else elements


def metadata(text: str) -> dict[str, list[Constant]]:
    """The constants of a text; see the module's description.

    Raises:
        ArgumentError: if it is not what ``script(show_meta=True)`` writes.
    """
    try:
        found = json.loads(text)
        return {CONSTANTS: [_constant(entry) for entry in found[CONSTANTS]]}
    except (ValueError, TypeError, KeyError, binascii.Error) as error:
        raise ArgumentError(f"R.metadata: this is not data of constants: {error}") from None


def _constant(entry: dict[str, Any]) -> Constant:
    dtype, shape = DType(entry["dtype"]), tuple(entry["shape"])
    data = base64.b64decode(entry["data"], validate=True)
    if len(data) != math.prod(shape) * dtype.numpy.itemsize:
        raise ValueError(f"{len(data)} bytes for shape {shape} of {dtype!s}")
    elements = np.frombuffer(data, dtype.numpy).reshape(shape)
    return Constant(_little_endian(elements))
