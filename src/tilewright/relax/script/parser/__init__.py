"""From text to graphs."""

from tilewright.relax.script.parser.decorators import function, macro
