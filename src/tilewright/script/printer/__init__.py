"""From IR to TVMScript text."""

from __future__ import annotations

import re
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import BaseFunc, IRModule
from tilewright.ir.node import Node, field_repr
from tilewright.ir.recursion import deep_recursion, pass_on_recursion_error
from tilewright.script.printer import expressions
from tilewright.script.printer.core import FUNCTIONS, STATEMENTS, Printer, printer_of
from tilewright.script.printer.display import finish, show
from tilewright.script.printer.functions import print_fragment, print_function, print_module
from tilewright.script.printer.options import PrinterOptions, nodes_to_underline, options_from
from tilewright.tir.stmt import Stmt


@deep_recursion
def script(obj: Any, **options: Any) -> str:
    """The TVMScript text of a module, function, statement or expression.

    The text of a module or function parses back to a structurally equal one. Statements and
    expressions are written as they would be inside of a function, free variables first.

    Args:
        obj: what to print.
        **options: see `PrinterOptions`.

    Raises:
        ArgumentError: for an unknown option, or an object other than IR.
    """
    chosen = options_from(options)
    printer = Printer(chosen, nodes_to_underline(obj, chosen))
    if isinstance(obj, IRModule):
        print_module(printer, obj)
    elif printer_of(FUNCTIONS, obj.__class__):
        print_function(printer, obj)
    elif isinstance(obj, Stmt):
        print_fragment(printer, obj)
    elif print_statement := printer_of(STATEMENTS, obj.__class__):
        print_statement(printer, obj)
    elif isinstance(obj, Node):
        text = printer.expr(obj)
        printer.line(printer.mark(obj, text))
    else:
        raise ArgumentError(f"script: {type(obj).__name__} cannot be printed: it is not IR")
    lines = printer.lines
    for finisher in printer.finishers:
        lines = finisher(lines)
    if isinstance(obj, (IRModule, BaseFunc)):
        lines = [*_imports(obj, chosen, lines), "", *lines]
    return finish(lines, line_numbers=chosen.print_line_numbers, context=chosen.num_context_lines)


def _imports(obj: IRModule | BaseFunc, options: PrinterOptions, lines: list[str]) -> list[str]:
    """Comments that say what the text needs to have imported."""
    functions = list(obj.functions.values()) if isinstance(obj, IRModule) else [obj]
    packages = {type(function).__module__.split(".")[1] for function in functions}
    names = [("ir", options.ir_prefix)] if isinstance(obj, IRModule) else []
    prefix = re.compile(rf"\b{re.escape(options.tir_prefix)}\.")
    if packages != {"relax"} or any(map(prefix.search, lines)):
        names.append(("tir", options.tir_prefix))
    if "relax" in packages:
        names.append(("relax", options.relax_prefix))
    return [f"# from tilewright.script import {name} as {prefix}" for name, prefix in names]


@deep_recursion
def node_repr(node: Node) -> str:
    """The text of `repr(node)`: what the script would say, without comments."""
    printer = Printer(options_from({}))
    try:
        if printer_of(FUNCTIONS, node.__class__):
            print_function(printer, node)  # type: ignore[arg-type]
        elif isinstance(node, Stmt):
            print_fragment(printer, node)
        elif print_statement := printer_of(STATEMENTS, node.__class__):
            print_statement(printer, node)
        else:
            return printer.expr(node)
    except Exception as error:
        pass_on_recursion_error(error)
        # A malformed node must still show up in error messages and debuggers.
        return field_repr(node)
    return finish(printer.lines)
