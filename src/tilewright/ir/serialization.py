"""Programs as text that a file can keep: `save_json` and `load_json`."""

from __future__ import annotations

import json
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.ir.recursion import deep_recursion
from tilewright.providers import provider


@deep_recursion
def save_json(node: Any, form: str = "tilewright") -> str:
    """A node, a module, or a container of those, as JSON text.

    Args:
        node: the program.
        form: ``"tilewright"``, or ``"tvm"`` for the graph of nodes that Apache TVM 0.18 loads (of
            tensor programs without constant arrays).

    Raises:
        ArgumentError: for objects that are not data, such as a Python function.
        ArgumentValueError: for another form.
    """
    if form == "tvm":
        return json.dumps(provider("node graphs").to_node_graph(node))
    if form != "tilewright":
        raise ArgumentValueError(f'save_json: form is "tilewright" or "tvm", got {form!r}')
    return json.dumps(provider("json").to_json(node))


@deep_recursion
def load_json(text: str) -> Any:
    """What `save_json` wrote, here or in Apache TVM 0.18. Nothing that the text says is executed.

    Raises:
        ArgumentValueError: if it is malformed.
    """
    try:
        form = json.loads(text)
    except json.JSONDecodeError as error:
        raise ArgumentValueError(f"this is not JSON: {error}") from None
    graphs = provider("node graphs")
    if graphs.is_node_graph(form):
        return graphs.from_node_graph(form)
    return provider("json").from_json(form)
