"""Options of printing, and the nodes that are underlined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tilewright.error import ArgumentError, did_you_mean
from tilewright.ir.dtype import DType


@dataclass(frozen=True)
class PrinterOptions:
    """Options of `script()`.

    Attributes:
        name: name of the printed function (without a `global_symbol`) or module.
        show_meta: for graphs, print constants that are otherwise left out; a tensor program leaves
            none out.
        ir_prefix: the name under which ``tilewright.script.ir`` is imported.
        tir_prefix: the name under which ``tilewright.script.tir`` is imported.
        relax_prefix: the name under which ``tilewright.script.relax`` is imported.
        module_alias: how a function refers to the module that it is in.
        buffer_dtype: element type of buffers that is not written.
        int_dtype: dtype of integer constants that are written bare.
        float_dtype: dtype of float constants that are written bare; ``"void"`` for none.
        verbose_expr: write operators as node constructors.
        indent_spaces: width of one level.
        print_line_numbers: start every line with its number.
        num_context_lines: lines to keep around underlined ones; -1 for all lines.
        syntax_sugar: use `T.grid`, `T.axis.remap` and buffers as parameter annotations.
        show_all_struct_info: for graphs, annotate every variable; otherwise those alone of which
            more, or less, is known than follows from the value.
        show_object_address: add the address of variables and buffers to their names.
        obj_to_underline: nodes (or one node) to underline; compound statements get a line under
            their header.
        obj_to_annotate: for nodes, texts that are added as comments to the lines that they are in.
        path_to_underline: access paths, as `get_first_structural_mismatch` returns them, of what
            to underline.
    """

    name: str | None = None
    show_meta: bool = False
    ir_prefix: str = "I"
    tir_prefix: str = "T"
    relax_prefix: str = "R"
    module_alias: str = "cls"
    buffer_dtype: str = "float32"
    int_dtype: str = "int32"
    float_dtype: str = "void"
    verbose_expr: bool = False
    indent_spaces: int = 4
    print_line_numbers: bool = False
    num_context_lines: int = -1
    syntax_sugar: bool = True
    show_all_struct_info: bool = True
    show_object_address: bool = False
    obj_to_annotate: Mapping[Any, str] = field(default_factory=dict)
    obj_to_underline: tuple[Any, ...] = field(default=())
    path_to_underline: tuple[Any, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in ("buffer_dtype", "int_dtype", "float_dtype"):
            object.__setattr__(self, name, DType(getattr(self, name)))
        paths: Any = self.path_to_underline
        if isinstance(paths, tuple) and paths and not isinstance(paths[0], tuple):
            paths = (paths,)  # one path, which is a tuple itself
        object.__setattr__(self, "path_to_underline", _several(paths))
        object.__setattr__(self, "obj_to_underline", _several(self.obj_to_underline))
        notes: Any = self.obj_to_annotate
        object.__setattr__(self, "obj_to_annotate", {} if notes is None else notes)
        if not isinstance(self.obj_to_annotate, Mapping):
            raise ArgumentError(f"script: obj_to_annotate is a dictionary, got {notes!r}")
        if self.indent_spaces < 1:
            raise ArgumentError(f"script: indent_spaces is at least 1, got {self.indent_spaces}")


def _several(value: Any) -> tuple[Any, ...]:
    """A list or tuple, a single item, or None, as a tuple."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


OPTION_NAMES = frozenset(option.name for option in fields(PrinterOptions))
IGNORED = frozenset({"black_format", "extra_config"})
"""Options accepted for compatibility that change nothing here."""

DEFAULT_OPTIONS = PrinterOptions()


def options_from(values: dict[str, Any]) -> PrinterOptions:
    """The options given as keyword arguments; an unknown one raises `ArgumentError`."""
    if not values:
        return DEFAULT_OPTIONS
    for name in values:
        if name not in OPTION_NAMES and name not in IGNORED:
            hint = did_you_mean(name, OPTION_NAMES)
            raise ArgumentError(f"script: there is no option {name!r}{hint}")
    return PrinterOptions(**{k: v for k, v in values.items() if k not in IGNORED})


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
