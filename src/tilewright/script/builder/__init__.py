"""Building tensor programs construct by construct; the `T` functions and the parser build on it."""

from tilewright.script.builder.blocks import BlockFrame, InitFrame
from tilewright.script.builder.control import BranchFrame, IfFrame, WhileFrame, WrapFrame
from tilewright.script.builder.function import FunctionFrame
from tilewright.script.builder.loops import ForFrame
from tilewright.script.builder.naming import set_name
from tilewright.script.builder.stack import Builder, Frame, add_statement, enclosing, require
