"""Whether a tensor program is well-formed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final

from tilewright.error import ArgumentError, VerifyError
from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Call, Expr, FloatImm, IntImm, SizeVar, StringImm, Var
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.node import Node, Role, Span
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import Visitor
from tilewright.ir.structural import path_text
from tilewright.tir.analysis.declared_regions import undeclared_access
from tilewright.tir.analysis.typing_rules import broken_rules
from tilewright.tir.buffer import Buffer, MatchBufferRegion
from tilewright.tir.expr import IterVar, ProducerLoad, Reduce
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    Block,
    BlockRealize,
    DeclBuffer,
    For,
)


@deep_recursion
def verify_well_formed(func_or_mod: PrimFunc | IRModule, assert_mode: bool = True) -> bool:
    """Check the rules that every tensor program obeys.

    * A variable is bound where it is used, and no binder in its scope binds it again.
    * A buffer is declared (by a parameter, a block, or `DeclBuffer`), or its pointer is bound.
    * Operands, indices, conditions, bounds of loops and stored values have the right dtypes, and
      as many indices as dimensions.
    * A block binds as many values as it has iterators. Its body mentions iterators of the blocks
      around it, sizes and parameters, but no loop variable from outside.
    * A block accesses no element that it does not declare, as far as that is known: see
      `undeclared_access`.
    * Calls of functions of the module name one that exists, with as many arguments.

    Args:
        func_or_mod: a function, or a module whose functions are checked.
        assert_mode: whether a broken rule raises; otherwise the result is False.

    Raises:
        VerifyError: with the rule, the place, and the script with the place underlined.
    """
    try:
        if isinstance(func_or_mod, PrimFunc):
            _Verifier(func_or_mod, None, func_or_mod.global_symbol or "a function").verify()
        elif isinstance(func_or_mod, IRModule):
            for var, function in func_or_mod.functions.items():
                if isinstance(function, PrimFunc):
                    _Verifier(function, func_or_mod, var.name_hint).verify()
        else:
            raise ArgumentError(f"expected a PrimFunc or an IRModule, got {func_or_mod!r}")
    except VerifyError:
        if assert_mode:
            raise
        return False
    return True


_ACCESS_WHAT_THEY_DECLARE: Final[LRUCache[bool]] = LRUCache(64)
"""Functions from which schedules are made, which is often done many times with the same one."""


@deep_recursion
def verify_declared_regions(module: IRModule) -> None:
    """Check only that the blocks of a module access what they declare: see `undeclared_access`.

    Functions that were found to be in order are remembered.

    Raises:
        VerifyError: with the access, and the script with the place underlined.
    """
    for var, function in module.functions.items():
        if isinstance(function, PrimFunc):
            verify = partial(_verify_regions, function, module, var.name_hint)
            _ACCESS_WHAT_THEY_DECLARE.get(function, None, verify)


def _verify_regions(function: PrimFunc, module: IRModule, name: str) -> bool:
    return _Verifier(function, module, name).verify_regions()


_CONSTANTS: Final = frozenset((IntImm, FloatImm, StringImm))
"""Classes of nodes of which nothing can be wrong."""


class _Verifier(Visitor):
    """Walks one function with the variables and buffers in scope."""

    def __init__(self, function: PrimFunc, module: IRModule | None, name: str) -> None:
        self.function, self.name = function, name
        self.module = module
        self.path: list[str | int] = []
        self.visible: dict[Var, bool] = {}
        """Variables in scope; true for those that a block inside may not mention."""
        self.hidden: dict[Var, str] = {}
        """Variables in scope that the innermost block may not mention, with its name."""
        self.buffers: dict[Buffer, None] = {}
        self.loops = 0
        """Loops between here and the innermost block."""
        self.checked: dict[int, None] = {}
        """Nodes that are in order in this scope, by their identity: most are used several times."""
        self.definitions = 0
        """How many variables have been bound so far."""
        self.has_blocks = False
        self.constant_layouts: set[Buffer] = set()
        """Buffers without a declaration whose layout is in order and mentions no variable."""

    def verify(self) -> None:
        """Check the function."""
        function = self.function
        for position, param in enumerate(function.params):
            with self.at("params", position):
                self.define(param)
        for param, buffer in function.buffer_map.items():
            with self.at("buffer_map", param.name):
                if param not in self.visible:
                    self.fail(f"the buffer {buffer.name} belongs to no parameter")
                if not param.dtype.is_handle:
                    self.fail(f"parameter {param.name} of a buffer has dtype {param.dtype!s}")
                if buffer.data not in self.visible:
                    self.define(buffer.data)
                self.define_sizes(buffer)
        for param, buffer in function.buffer_map.items():
            with self.at("buffer_map", param.name):
                self.declare(buffer)
        self.child(function, "body")
        if self.has_blocks:
            self.verify_regions()

    def verify_regions(self) -> bool:
        """Check that blocks access only what they declare, which is True if nothing is raised."""
        found = undeclared_access(self.function.body)
        if found is not None:
            self.path = list(_path_to(found.node, self.function.body, ("body",)) or ("body",))
            self.fail(found.rule)
        return True

    def fail(self, rule: str) -> None:
        """Raise the error for a broken rule at the current place."""
        path = tuple(self.path)
        script = self.function.script(path_to_underline=[path])
        error = VerifyError(f"{self.name} is malformed at {path_text(path)}: {rule}\n{script}")
        error.rule, error.span = rule, self._span(path)
        raise error

    def _span(self, path: tuple[str | int, ...]) -> Span | None:
        """Where the innermost statement on the way was written."""
        node: Any = self.function
        span = self.function.span
        for step in path:
            if isinstance(step, int):
                node = node[step] if step < len(node) else None
            else:
                node = getattr(node, step, None)
            if node is None or isinstance(node, Mapping):
                break
            span = getattr(node, "span", None) or span
        return span

    # --- places -------------------------------------------------------------------------------

    @contextmanager
    def at(self, *steps: str | int) -> Iterator[None]:
        """What happens in this context is about the part of the current node."""
        self.path.extend(steps)
        yield
        del self.path[len(self.path) - len(steps) :]

    def child(self, node: Any, field: str) -> None:
        """Check the sub-node (or all of a tuple of them) in a field."""
        value = getattr(node, field)
        path = self.path
        path.append(field)
        if value.__class__ is tuple:
            for position, item in enumerate(value):
                path.append(position)
                self.visit(item)
                path.pop()
        elif value is not None:
            self.visit(value)
        path.pop()

    def visit_children(self, node: Node, but: tuple[str, ...] = ()) -> None:
        """Check all sub-nodes, except those in the fields `but`."""
        for field in _child_fields(node.__class__):
            if field not in but:
                self.child(node, field)

    def visit(self, node: Any) -> None:
        """Check `node` and everything below it."""
        if node.__class__ in _CONSTANTS or id(node) in self.checked:
            return
        definitions = self.definitions
        if not isinstance(node, Node):
            self.fail(f"{node!r} stands where a node belongs")
        for rule in broken_rules(node):
            self.fail(rule)
        hook = self._hooks.get(node.__class__)
        if hook is None:
            for field in _child_fields(node.__class__):
                self.child(node, field)
        else:
            hook(self, node)
        if self.definitions == definitions:  # what binds variables may not be where they are bound
            self.checked[id(node)] = None

    # --- scopes -------------------------------------------------------------------------------

    def define(self, var: Var, is_local: bool = False) -> None:
        """Bind a variable; a local one is not visible in blocks further inside."""
        if var in self.visible:
            self.fail(f"variable {var.name} is bound again in its own scope")
        self.definitions += 1
        self.visible[var] = is_local

    @contextmanager
    def scope(self, *variables: Var, is_local: bool = False) -> Iterator[None]:
        """The variables are bound, and what is bound in this context, in this context only."""
        before, buffers, checked = len(self.visible), len(self.buffers), len(self.checked)
        for var in variables:
            self.define(var, is_local)
        yield
        while len(self.visible) > before:
            self.visible.popitem()
        while len(self.buffers) > buffers:
            self.buffers.popitem()
        while len(self.checked) > checked:
            self.checked.popitem()

    def define_sizes(self, buffer: Buffer) -> None:
        """Bind the variables that stand alone in the layout of a buffer and are new."""
        for expr in _layout_of(buffer):
            if isinstance(expr, Var) and expr not in self.visible:
                self.define(expr)

    def declare(self, buffer: Buffer) -> None:
        """Declare a buffer whose pointer is bound."""
        if buffer in self.buffers:
            self.fail(f"buffer {buffer.name} is declared again in its own scope")
        self._layout(buffer)
        self.buffers[buffer] = None

    def _layout(self, buffer: Buffer) -> None:
        for rule in broken_rules(buffer):
            self.fail(rule)
        self.Var(buffer.data)
        for expr in _layout_of(buffer):
            self.visit(expr)

    def Var(self, var: Var) -> None:
        """Check that a variable is bound, and visible in the innermost block."""
        if var in self.hidden:
            self.fail(
                f"block {self.hidden[var]} mentions {var.name}, which is bound by a loop outside "
                "of it: bind a block iterator to it"
            )
        if var not in self.visible:
            self.fail(f"variable {var.name} is not bound")

    SizeVar = Var

    def use_buffer(self, buffer: Buffer) -> None:
        """Check that a buffer is declared; without a declaration, that its parts are bound."""
        if buffer in self.buffers:
            return
        if buffer.data not in self.visible:
            self.fail(f"buffer {buffer.name} is not declared")
        if buffer not in self.constant_layouts:
            self._layout(buffer)
            if all(expr.__class__ is IntImm for expr in _layout_of(buffer)):
                self.constant_layouts.add(buffer)

    # --- nodes --------------------------------------------------------------------------------

    def BufferLoad(self, node: Any) -> None:
        self.use_buffer(node.buffer)
        self.visit_children(node)

    BufferStore = BufferRegion = BufferRealize = Prefetch = BufferLoad

    def Let(self, node: Any) -> None:
        self.child(node, "value")
        # In a loop its value may depend on the loop; memory may be used anywhere.
        is_local = self.loops > 0 and not node.var.dtype.is_handle
        with self.scope(node.var, is_local=is_local):
            self.child(node, "body")

    LetStmt = Let

    def For(self, loop: For) -> None:
        self.visit_children(loop, but=("body", "thread_binding"))
        self._inside_loop(loop, loop.loop_var)

    def _inside_loop(self, node: Any, var: Var) -> None:
        self.loops += 1
        with self.scope(var, is_local=True):
            self.child(node, "body")
        self.loops -= 1

    def AttrStmt(self, stmt: AttrStmt) -> None:
        self.child(stmt, "value")
        target = stmt.node
        if isinstance(target, IterVar) and target.var not in self.visible:
            self._inside_loop(stmt, target.var)
            return
        if isinstance(target, Buffer):
            self.use_buffer(target)
        elif isinstance(target, (Var, SizeVar)):
            self.Var(target)
        self.child(stmt, "body")

    def Allocate(self, stmt: Any) -> None:
        self.visit_children(stmt, but=("body",))
        with self.scope(stmt.buffer_var):
            self.child(stmt, "body")

    AllocateConst = Allocate

    def DeclBuffer(self, stmt: DeclBuffer) -> None:
        with self.scope():
            with self.at("buffer"):
                self.declare(stmt.buffer)
            self.child(stmt, "body")

    def BlockRealize(self, realize: BlockRealize) -> None:
        self.visit_children(realize, but=("block",))
        block = realize.block
        hidden, loops, checked = self.hidden, self.loops, self.checked
        local = (var for var, is_local in self.visible.items() if is_local)
        self.hidden = {**hidden, **dict.fromkeys(local, block.name_hint)}
        self.loops, self.checked = 0, {}
        with self.at("block"):
            self.visit(block)
        self.hidden, self.loops, self.checked = hidden, loops, checked

    def Block(self, block: Block) -> None:
        self.has_blocks = True
        for position, iterator in enumerate(block.iter_vars):
            if iterator.dom is not None:
                with self.at("iter_vars", position):
                    self.child(iterator, "dom")
        with self.scope(*(iterator.var for iterator in block.iter_vars)):
            for position, buffer in enumerate(block.alloc_buffers):
                with self.at("alloc_buffers", position):
                    self.define(buffer.data)
                    self.declare(buffer)
            for position, match in enumerate(block.match_buffers):
                with self.at("match_buffers", position):
                    self._match(match)
            for field in ("init", "body", "reads", "writes"):
                self.child(block, field)

    def _match(self, match: MatchBufferRegion) -> None:
        self.child(match, "source")
        self.define(match.buffer.data)
        self.define_sizes(match.buffer)
        self.declare(match.buffer)

    def Call(self, call: Call) -> None:
        name = call.op
        if isinstance(name, GlobalVar) and self.module is not None:
            if name not in self.module:
                self.fail(f"the module has no function {name.name_hint}")
            callee = self.module[name]
            if isinstance(callee, PrimFunc) and len(callee.params) != len(call.args):
                self.fail(
                    f"{name.name_hint} takes {len(callee.params)} arguments, got {len(call.args)}"
                )
        self.child(call, "args")

    def Reduce(self, reduce: Reduce) -> None:
        with self.at("combiner"), self.scope(*reduce.combiner.lhs, *reduce.combiner.rhs):
            self.visit_children(reduce.combiner)
        self.child(reduce, "init")
        with self.scope(*(iterator.var for iterator in reduce.axis)):
            for position, iterator in enumerate(reduce.axis):
                with self.at("axis", position):
                    self.child(iterator, "dom")
            self.child(reduce, "source")
            self.child(reduce, "condition")

    def ProducerLoad(self, load: ProducerLoad) -> None:
        self.fail(f"{load!r} reads a tensor of a tensor expression, which is not a buffer")


def _layout_of(buffer: Buffer) -> tuple[Expr, ...]:
    return (*buffer.shape, *buffer.strides, buffer.elem_offset)


@cache
def _child_fields(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a class of nodes that hold sub-nodes."""
    return tuple(field.name for field in kind.__node_fields__ if field.role is Role.CHILD)


def _path_to(wanted: Node, node: Node, path: tuple[str | int, ...]) -> tuple[str | int, ...] | None:
    """The path of a node below another one, whose own path is given."""
    if node is wanted:
        return path
    for field in _child_fields(type(node)):
        value = getattr(node, field)
        parts = enumerate(value) if isinstance(value, tuple) else ((None, value),)
        for position, item in parts:
            if isinstance(item, Node):
                steps = (field,) if position is None else (field, position)
                found = _path_to(wanted, item, (*path, *steps))
                if found is not None:
                    return found
    return None
