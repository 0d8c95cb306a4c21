"""The state of one printing, and the dispatch to the printers of the node classes.

Printers of expressions return their text and how tightly it binds; printers of statements append
lines. Both are registered per node class in the other modules of this package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tilewright.ir.dtype import DType, PointerType, PrimType
from tilewright.ir.expr import SizeVar, Var
from tilewright.ir.module import IRModule
from tilewright.ir.node import Node
from tilewright.providers import provider
from tilewright.script.printer.declarations import Declarations
from tilewright.script.printer.display import END, NOTE, NOTE_END, START
from tilewright.script.printer.names import NameTable, is_name
from tilewright.script.printer.options import PrinterOptions
from tilewright.tir.buffer import Buffer

ATOM = 100
"""Precedence of names, literals, calls and subscripts."""

Rendered = tuple[str, int]
"""Text of an expression and its precedence."""

EXPRESSIONS: dict[type, Callable[[Printer, Any], Rendered]] = {}
STATEMENTS: dict[type, Callable[[Printer, Any], None]] = {}
FUNCTIONS: dict[type, Callable[[Printer, Any, str | None], None]] = {}
"""Printers by node class."""

Function = TypeVar("Function", bound=Callable[..., Any])


def prints(table: dict[type, Any], *classes: type) -> Callable[[Function], Function]:
    """Decorator: the function prints nodes of `classes`."""

    def register(function: Function) -> Function:
        for cls in classes:
            table[cls] = function
        return function

    return register


def printer_of(table: dict[type, Function], cls: type) -> Function | None:
    """What prints nodes of class `cls`; None if nothing does."""
    found = table.get(cls)
    if found is None and cls.__module__.split(".")[1:2] == ["relax"]:
        provider("graph printers")  # they are added to the tables when they are imported
        found = table.get(cls)
    return found


State = TypeVar("State")


class Printer:
    """Prints one object; see `tilewright.script.printer.script`.

    Attributes:
        options: what the user asked for.
        names: text of the variables and buffers in scope.
        lines: what has been printed.
        declarations: undeclared buffers and free variables of the function that is printed.
        loops: the loops around the current statement, by loop variable.
        module: the module that is printed, if it is one.
        bare_dtype: the dtype of integers that are written bare where the other operand of an
            operator has it, too, beside those of ``options.int_dtype``.
        finishers: functions that process all lines at the end, such as adding data.
    """

    def __init__(self, options: PrinterOptions, underlined: Iterable[object] = ()) -> None:
        self.options = options
        self.tir = f"{options.tir_prefix}."
        reserved = (
            "range", "metadata", options.tir_prefix, options.ir_prefix, options.relax_prefix,
            options.module_alias, options.name or "Module",
        )  # fmt: skip
        self.names = NameTable(reserved, options.show_object_address)
        self.lines: list[str] = []
        self.declarations = Declarations()
        self.loops: dict[Var, Any] = {}
        self.module: IRModule | None = None
        self.bare_dtype: DType | None = None
        self.finishers: list[Callable[[list[str]], list[str]]] = []
        self._states: dict[type, Any] = {}
        self._function_names: dict[str, str] | None = None
        self._pending: list[str] = []
        self._indent = ""
        self._step = " " * options.indent_spaces
        self._underlined = {id(item) for item in underlined}
        self._notes = {id(item): note for item, note in options.obj_to_annotate.items()}
        self._marked = self._underlined | set(self._notes)

    def state(self, kind: Callable[[Printer], State]) -> State:
        """What the printers of another package keep during this printing: one `kind` of it."""
        if kind not in self._states:
            self._states[kind] = kind(self)  # type: ignore[index]
        return self._states[kind]  # type: ignore[index]

    # --- lines ------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Append a line at the current indentation."""
        if self._pending:
            self.flush()
        self.lines.append(self._indent + text)

    def before(self, text: str) -> None:
        """Append a line before the one that is being put together."""
        self._pending.append(text)

    def flush(self) -> None:
        """Append what `before` has collected."""
        pending, self._pending = self._pending, []
        self.lines.extend(self._indent + text for text in pending)

    def header(self, stmt: object, text: str) -> None:
        """Append the first line of a statement, underlined if the statement is."""
        self.line(self.mark(stmt, text))

    def indent(self) -> None:
        """Start an indented part."""
        self._indent += self._step

    def dedent(self) -> None:
        """End the indented part."""
        self._indent = self._indent[: -len(self._step)]

    def enter(self) -> None:
        """Start an indented part that is a scope of names."""
        self._indent += self._step
        self.names.push()

    def leave(self) -> None:
        """End the scope started by `enter`."""
        self.names.pop()
        self._indent = self._indent[: -len(self._step)]

    # --- functions --------------------------------------------------------------------------

    def function_name(self, name: str) -> str:
        """How the text names a function of the module: by its name, if that is one in Python."""
        if is_name(name):
            return name
        if self._function_names is None:
            known = [] if self.module is None else [v.name_hint for v in self.module.functions]
            table = NameTable(tuple(filter(is_name, known)))
            self._function_names = {n: table.define(n, n) for n in known if not is_name(n)}
        return self._function_names.get(name) or NameTable().unique(name)

    # --- underlining ------------------------------------------------------------------------

    def is_underlined(self, item: object) -> bool:
        """Whether the user asked for `item` to be underlined or annotated."""
        return id(item) in self._marked

    def mark(self, item: object, text: str) -> str:
        """`text`, marked if `item` is to be underlined or annotated."""
        if not self._marked or id(item) not in self._marked:
            return text
        note = self._notes.get(id(item))
        if note is not None:
            text = f"{text}{NOTE}{' '.join(str(note).split())}{NOTE_END}"
        return f"{START}{text}{END}" if id(item) in self._underlined else text

    # --- expressions ------------------------------------------------------------------------

    def expr(self, node: Any) -> str:
        """The text of an expression (or of a range, region, type, ...)."""
        return self.rendered(node)[0]

    def rendered(self, node: Any) -> Rendered:
        """The text of an expression and its precedence."""
        function = EXPRESSIONS.get(node.__class__) or printer_of(EXPRESSIONS, node.__class__)
        result = function(self, node) if function is not None else self._unknown(node)
        if self._marked and id(node) in self._marked:
            return self.mark(node, result[0]), result[1]
        return result

    def operand(self, node: Any, precedence: int) -> str:
        """The text of an operand, in parentheses if it binds less tightly than `precedence`."""
        text, own = self.rendered(node)
        return text if own >= precedence else f"({text})"

    def exprs(self, nodes: Iterable[Any]) -> str:
        """The texts of several expressions, separated by commas."""
        return ", ".join([self.rendered(node)[0] for node in nodes])

    def tuple(self, nodes: Iterable[Any]) -> str:
        """A Python tuple of expressions."""
        texts = [self.expr(node) for node in nodes]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"

    def _unknown(self, node: Any) -> Rendered:
        """A node without a script form, field by field."""
        if not isinstance(node, Node):
            return repr(node), ATOM
        parts = [
            f"{f.name}={self.value(getattr(node, f.name))}"
            for f in node.__node_fields__
            if f.name not in ("span", "dtype")
        ]
        return f"{type(node).__name__}({', '.join(parts)})", ATOM

    # --- plain values -----------------------------------------------------------------------

    def value(self, value: Any) -> str:
        """A Python value of an attribute: numbers, strings, sequences, dictionaries, nodes."""
        if isinstance(value, Node):
            return self.expr(value)
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, (tuple, list)):
            return f"[{', '.join([self.value(item) for item in value])}]"
        if hasattr(value, "items"):
            return self.dictionary(value)
        if getattr(value, "is_attribute", False):
            return f"{self.tir}target({self.target(value)})"
        return repr(value)

    def target(self, target: Any) -> str:
        """A target: its options as a string, or all its parts if that does not say everything."""
        text = str(target)
        return quoted(text) if type(target)(text) == target else self.value(target.export())

    def dictionary(self, values: Any) -> str:
        """A dictionary of attributes, sorted by name."""
        items = sorted(values.items(), key=lambda item: str(item[0]))
        return "{" + ", ".join([f"{self.value(k)}: {self.value(v)}" for k, v in items]) + "}"

    # --- variables --------------------------------------------------------------------------

    def var_type(self, var: Var) -> str:
        """The type of a variable as an annotation, such as ``T.int32``."""
        if isinstance(var, SizeVar):
            return f"{self.tir}{var.dtype}(is_size_var=True)"
        return self.type(var.dtype, var.type_annotation)

    def new_var(self, var: Var) -> str:
        """The expression that makes a variable like `var`, such as ``T.int32()``."""
        text = self.var_type(var)
        return text if text.endswith(")") else f"{text}()"

    def type(self, dtype: DType, annotation: object = None) -> str:
        """A dtype or pointer type as an annotation."""
        if isinstance(annotation, PointerType):
            scope = annotation.storage_scope
            element = quoted(annotation.element_type.dtype)
            parts = element if scope == "global" else f"{element}, {quoted(scope)}"
            return f"{self.tir}handle({parts})"
        if isinstance(annotation, PrimType):
            dtype = annotation.dtype
        return f"{self.tir}{dtype}"

    def declare_var(self, var: Var) -> None:
        """Append the line that makes a free variable."""
        name = self.names.define(var, var.name)
        self.line(f"{name} = {self.new_var(var)}")

    def define_buffer(self, buffer: Buffer) -> str:
        """A name for `buffer`; its pointer becomes ``name.data`` if it has no name yet."""
        name = self.names.define(buffer, buffer.name)
        if self.names.find(buffer.data) is None:
            self.names.alias(buffer.data, f"{name}.data")
        return name


def quoted(text: str) -> str:
    """A Python string literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)
