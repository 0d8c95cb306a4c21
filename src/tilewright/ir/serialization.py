"""Programs as text that a file can keep: `save_json` and `load_json`."""

from __future__ import annotations

import importlib
import json
from typing import Any

from tilewright.error import ArgumentValueError

# The form is written next to the tensor programs, above this package.
_FORM = "tilewright.tir.json_form"


def save_json(node: Any) -> str:
    """A node, a module, or a container of those, as JSON text.

    Raises:
        ArgumentError: for objects that are no data, such as a Python function.
    """
    return json.dumps(importlib.import_module(_FORM).to_json(node))


def load_json(text: str) -> Any:
    """What `save_json` wrote, equal to the original. Nothing that the text says is executed.

    Raises:
        ArgumentValueError: if it is malformed.
    """
    try:
        form = json.loads(text)
    except json.JSONDecodeError as error:
        raise ArgumentValueError(f"this is no JSON: {error}") from None
    return importlib.import_module(_FORM).from_json(form)
