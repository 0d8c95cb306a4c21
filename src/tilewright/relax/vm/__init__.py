"""Graphs at run time: how they are compiled, and the virtual machine that runs them."""

from tilewright.relax.vm import builtins
from tilewright.relax.vm.driver import build
from tilewright.relax.vm.executable import Executable
from tilewright.relax.vm.profile import Profile, VMInstrumentReturnKind
from tilewright.relax.vm.virtual_machine import VirtualMachine
