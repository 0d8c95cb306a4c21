"""Models as Python classes: modules with parameters, whose methods become graph functions."""

from tilewright.relax.frontend.nn import core, exporter, modules, op, spec, subroutine, visitor
from tilewright.relax.frontend.nn.containers import ModuleDict, ModuleList, Sequential
from tilewright.relax.frontend.nn.effect import Effect
from tilewright.relax.frontend.nn.exporter import add_extern
from tilewright.relax.frontend.nn.extern import ExternModule, ObjectModule, SourceModule
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.modules import *  # noqa: F403
from tilewright.relax.frontend.nn.op import *  # noqa: F403
from tilewright.relax.frontend.nn.parameter import Parameter, get_default_dtype, set_default_dtype
from tilewright.relax.frontend.nn.subroutine import SubroutineMixin
from tilewright.relax.frontend.nn.tensor import Object, Tensor, wrap_nested
from tilewright.relax.frontend.nn.visitor import Mutator
