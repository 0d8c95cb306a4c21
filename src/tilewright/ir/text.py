"""Programs as text: scripts for people, and JSON for files."""

from __future__ import annotations

import json
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.ir.recursion import deep_recursion
from tilewright.providers import provider


def script_text(obj: Any, **options: Any) -> str:
    """The script of any node; see `Scriptable.script` for the options."""
    return provider("printer").script(obj, **options)


class Scriptable:
    """Base class of what prints as TVMScript: all nodes, and modules."""

    __slots__ = ()

    def script(self, **options: Any) -> str:
        """This object as TVMScript text that parses back to an equal object.

        Args:
            **options: `name`, `show_meta`, `ir_prefix`, `tir_prefix`, `relax_prefix`,
                `module_alias`, `buffer_dtype`, `int_dtype`, `float_dtype`, `verbose_expr`,
                `indent_spaces`, `print_line_numbers`, `num_context_lines`, `syntax_sugar`,
                `show_object_address`, `obj_to_underline` (nodes), `path_to_underline` (paths to
                them), `obj_to_annotate` (comments by node);
                `tilewright.script.printer.options` says what each means.
        """
        return script_text(self, **options)

    def show(self, style: str | None = None, **options: Any) -> None:
        """Print the script, with colours in a terminal and as HTML in a notebook.

        Args:
            style: a Pygments style name, or ``"light"``, ``"dark"``, ``"ansi"``.
            **options: those of `script`.
        """
        provider("printer").show(self, style=style, **options)

    def _repr_html_(self) -> str:
        """The script with colours, for notebooks."""
        return provider("script display").highlight_html(self.script())


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
