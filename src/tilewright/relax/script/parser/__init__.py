"""From text to graphs."""

from tilewright.relax.script.parser.functions import function, macro
