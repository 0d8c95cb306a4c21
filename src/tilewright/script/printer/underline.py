"""Finding the nodes that the user asked to underline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.script.printer.options import PrinterOptions


def nodes_to_underline(root: Any, options: PrinterOptions) -> Iterator[object]:
    """The nodes named by the options, each as an object."""
    yield from options.obj_to_underline
    for path in options.path_to_underline:
        yield resolve_path(root, path)


def resolve_path(root: Any, path: tuple[str | int, ...]) -> Any:
    """The innermost node on `path` (attribute names, indices and keys) below `root`."""
    from tilewright.ir.node import Node
    from tilewright.ir.op import Op

    found = value = root
    for step in path:
        if isinstance(step, str) and hasattr(value, step):
            value = getattr(value, step)
        elif isinstance(value, tuple):
            if not isinstance(step, int) or step >= len(value):
                break
            value = value[step]
        else:
            matches = [v for k, v in getattr(value, "items", dict)() if _key(k) == step]
            if not matches:
                break
            value = matches[0]
        if isinstance(value, Node) and not isinstance(value, Op):  # one object for all calls
            found = value
    return found


def _key(key: object) -> object:
    """The step of a path that stands for a key of a dictionary."""
    return getattr(key, "name_hint", None) or getattr(key, "name", key)
