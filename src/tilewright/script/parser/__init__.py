"""From Python text to IR."""

from tilewright.script.parser.text import from_source, ir_module, macro, parse, prim_func
