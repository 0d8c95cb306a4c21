"""`.script()` and `.show()` for everything that prints as a script.

The printer is in `tilewright.script`, above this package, and installs itself here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Printer:
    script: Callable[..., str] | None = None
    show: Callable[..., None] | None = None


def install_printer(script: Callable[..., str], show: Callable[..., None]) -> None:
    """Make `script(obj, **options)` and `show(obj, **options)` serve all scriptable objects."""
    _Printer.script, _Printer.show = script, show


def script_text(obj: Any, **options: Any) -> str:
    """The script of any node; see `Scriptable.script` for the options."""
    if _Printer.script is None:
        import tilewright.script.printer  # noqa: F401, the import installs the printer
    assert _Printer.script is not None
    return _Printer.script(obj, **options)


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
        if _Printer.show is None:
            import tilewright.script.printer  # noqa: F401, the import installs the printer
        assert _Printer.show is not None
        _Printer.show(self, style=style, **options)

    def _repr_html_(self) -> str:
        """The script with colours, for notebooks."""
        from tilewright.script.printer.display import highlight_html

        return highlight_html(self.script())
