"""The state of writing a function in LLVM IR, and the table of what writes its nodes."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import CodegenError
from tilewright.ir.expr import Expr, Var
from tilewright.target.codegen import EmitterTable
from tilewright.target.codegen.llvm.builder import Builder
from tilewright.target.codegen.llvm.halves import Halves
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.types import HALVES, value_type
from tilewright.tir.stmt import Stmt

emits: Final = EmitterTable()
"""Registers functions that take a `FunctionEmitter` and a node.

Those of expressions return the register or constant with the value.
"""

FREE: Final = "tilewright_workspace_free"
RELEASE: Final = "tilewright_device_release"
"""The function that frees a block of memory from the heap."""


class FunctionEmitter(Builder):
    """Writes one function.

    Attributes:
        module: what the functions of the module share.
        halves: conversions of half types.
        analyzer: facts about the variables.
        variables: the registers of the variables.
        unaliased: registers with pointers to memory that is reached in no other way.
        streamed: memory to which whole vectors are stored past the caches: it is aligned.
        workspaces: blocks of memory to free, outermost first.
        beside: a register with an address on the device that workspaces of devices are on.
        closure: variables of the surrounding function, if this is the body of a parallel loop.
        name: the name of the function, for messages.
        result_type: the type of what the function returns: its status, or a value.
        polls: whether the function may end early, because of an interrupt.
        partial_stores: number of vectors of which branches store as many lanes as are asked for.
    """

    def __init__(self, module: ModuleText, closure: Closure | None = None) -> None:
        super().__init__(module.target.vector_registers)
        self.module = module
        self.halves = Halves(self, module.target)
        self.analyzer = Analyzer() if closure is None else closure.parent.analyzer
        self.variables: dict[Var, str] = {}
        self.unaliased: set[str] = set()
        self.streamed: set[Var] = set()
        self.workspaces: list[Workspace] = []
        self.beside = "null"
        self.closure = closure
        self.name = "" if closure is None else closure.parent.name
        self.result_type = "i32"
        self.polls = False
        self.partial_stores = 0

    def operand(self, expr: Expr) -> str:
        """The register or constant with the value of `expr`."""
        emit = emits.nodes.get(expr.__class__)
        if emit is None:
            raise CodegenError(f"target llvm has no code for `{expr!r}` ({type(expr).__name__})")
        return emit(self, expr)

    def statement(self, stmt: Stmt) -> None:
        """Write `stmt`."""
        emit = emits.nodes.get(stmt.__class__)
        if emit is None:
            raise CodegenError(f"target llvm has no code for a {type(stmt).__name__}; lower it")
        emit(self, stmt)

    def variable(self, var: Var) -> str:
        """The register with the value of a variable."""
        register = self.variables.get(var)
        if register is None:
            if self.closure is None:
                raise CodegenError(f"variable {var.name} is used outside of its scope")
            register = self.variables[var] = self.closure.capture(var, self)
        return register

    def define_variable(self, var: Var, value: Expr) -> None:
        """Give a variable its value."""
        self.variables[var] = self.operand(value)
        if var.dtype.is_int and var.dtype.lanes == 1:
            low, high = self.analyzer.const_int_bound(value)
            if high - low < var.dtype.max_int:  # the extent is a number of that dtype
                self.analyzer.bind_range(var, int(low), int(high - low + 1))

    # --- the end of the function --------------------------------------------------------------

    def leave(self, value: str) -> None:
        """Leave the function with `value`."""
        for workspace in reversed(self.workspaces):
            self.free(workspace)
        self.end("ret void" if self.result_type == "void" else f"ret {self.result_type} {value}")

    def free(self, workspace: Workspace) -> None:
        """Free a block of memory."""
        register, device_type = workspace
        if device_type is None:
            self.module.needs_workspaces = True
            function = self.module.declare(FREE, "void", ("ptr",))
            self.effect(f"call void {function}(ptr {register})")
        else:
            self.module.needs_launcher = True
            function = self.module.declare(RELEASE, "i32", ("i32", "ptr"))
            self.effect(f"call i32 {function}(i32 {device_type}, ptr {register})")


class Workspace(NamedTuple):
    """A block of memory.

    Attributes:
        register: the one with its address.
        device_type: DLPack's number of the type of device that it is on; None for the heap.
    """

    register: str
    device_type: int | None


class Captured(NamedTuple):
    """A value of the surrounding function that the body of a parallel loop uses.

    Attributes:
        kind: its type.
        register: where it is in the surrounding function.
        offset: its position in the closure, in bytes.
    """

    kind: str
    register: str
    offset: int


class Closure:
    """The values of a function that the body of a parallel loop in it uses.

    Attributes:
        parent: writes the surrounding function.
        pointers: registers of the body, and offsets in the closure, of pointers without alias.
    """

    def __init__(self, parent: FunctionEmitter) -> None:
        self.parent = parent
        self.pointers: list[tuple[str, int]] = []
        self._values: list[Captured] = []
        self._size = 0

    def capture(self, var: Var, body: FunctionEmitter) -> str:
        """The value of a variable of the surrounding function, in the body."""
        value, dtype = self.parent.variable(var), var.dtype
        if not value.startswith("%"):
            return value
        kind, offset = value_type(dtype), self._size
        itemsize = 4 if dtype.element in HALVES else max(dtype.bits // 8, 1)
        self._size += -(-itemsize * dtype.lanes // 8) * 8
        self._values.append(Captured(kind, value, offset))
        register = body.fresh("%outer")
        if value in self.parent.unaliased:
            self.pointers.append((register, offset))
            return register
        slot = body.fresh("%slot")
        body.entry.append(f"  {slot} = getelementptr i8, ptr %closure, i64 {offset}")
        body.entry.append(f"  {register} = load {kind}, ptr {slot}, align 8")
        return register

    def write(self) -> str:
        """The address of the closure, which the surrounding function fills."""
        parent = self.parent
        closure = parent.fresh("%closure")
        parent.entry.append(f"  {closure} = alloca [{max(self._size, 1)} x i8], align 8")
        for value in self._values:
            slot = parent.pure(f"getelementptr i8, ptr {closure}, i64 {value.offset}", closure)
            parent.effect(f"store {value.kind} {value.register}, ptr {slot}, align 8")
        return closure
