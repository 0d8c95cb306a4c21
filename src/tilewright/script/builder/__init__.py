"""Building tensor programs construct by construct; the `T` functions and the parser build on it."""

from tilewright.script.builder.blocks import BlockFrame, InitFrame
from tilewright.script.builder.control import BranchFrame, ForFrame, IfFrame, WhileFrame, WrapFrame
from tilewright.script.builder.function import FunctionFrame, set_name
from tilewright.script.builder.stack import Builder, Frame, add_statement, enclosing, require
