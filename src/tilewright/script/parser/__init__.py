"""From Python text to IR."""

from tilewright.script.parser.entry import from_source, ir_module, macro, parse, prim_func
