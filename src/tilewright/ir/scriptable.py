"""`.script()` and `.show()` for everything that prints as a script."""

from __future__ import annotations

from typing import Any

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
