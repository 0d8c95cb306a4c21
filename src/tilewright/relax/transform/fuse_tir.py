"""Making one tensor program of each function that is one kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.convert import attributes
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as SizeVar
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal, structural_hash
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import (
    Binding,
    Call,
    Constant,
    ExternFunc,
    Function,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.open_functions import SharedFunctions
from tilewright.relax.struct_info import (
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.transform.fuse_ops import PRIMITIVE
from tilewright.relax.transform.fusion_graph import OP_PATTERN, called_kernel, kernel_arguments
from tilewright.tir.analysis.pattern_kind import PatternKind, pattern_kind
from tilewright.tir.buffer import Buffer, decl_buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.join_functions import FunctionCall, join_functions


class FuseTIR(ModulePass):
    """Make one tensor program of each function with the attribute Primitive, and call it.

    Values between the operators become buffers of the program, so that its schedule decides where
    they live. Programs that are equal are shared; those that nobody calls any more are removed.
    Functions that do anything but call tensor programs stay as they are.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        joined: dict[GlobalVar, Kernel] = {}
        elsewhere = _used_outside_groups(mod)
        kernels = _Kernels(mod)
        for var, func in mod.functions.items():
            if isinstance(func, Function) and int(func.attrs.get(PRIMITIVE, 0)):
                kernel = None if var.name_hint in elsewhere else kernels.of(func)
                if kernel is not None:
                    joined[var] = kernel
        if not joined:
            return mod
        return _without_parts(mod, _replaced(mod, joined), joined)


class Kernel(NamedTuple):
    """The tensor program of a function.

    Attributes:
        func: its parameters are the arrays of the function, `constants`, the results, and sizes.
        constants: arrays that are passed in addition to what the function takes.
    """

    func: PrimFunc
    constants: tuple[Constant, ...]


class _Kernels:
    """The tensor programs of functions, made once for functions that are equal."""

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._known: dict[int, list[tuple[Function, Kernel | None]]] = {}

    def of(self, func: Function) -> Kernel | None:
        """The tensor program that does what a function does; None if it does something else."""
        plain = func.without_attr("global_symbol")
        alike = self._known.setdefault(structural_hash(plain), [])
        for known, kernel in alike:
            if structural_equal(known, plain):
                return kernel
        try:
            kernel = _Joining(func, self._mod).kernel()
        except _UnsupportedError:
            kernel = None
        alike.append((plain, kernel))
        return kernel


class _UnsupportedError(Exception):
    """A function does something else than call tensor programs."""


class _Joining:
    """The buffers behind the variables of a function."""

    def __init__(self, func: Function, mod: IRModule) -> None:
        self.func, self.mod = func, mod
        self.buffers: dict[RelaxExpr, tuple[Buffer, ...]] = {}
        self.sizes: list[SizeVar] = []
        self.constants: dict[Constant, Buffer] = {}

    def kernel(self) -> Kernel:
        """Join what the bindings call.

        Raises:
            _UnsupportedError: if a binding is not a call of a tensor program.
        """
        inputs = [buffer for param in self.func.params for buffer in self._parameter(param)]
        body = self.func.body
        if not isinstance(body, SeqExpr):
            raise _UnsupportedError
        bindings = [binding for block in body.blocks for binding in block.bindings]
        ordered = _products_late(bindings, self.mod)
        calls = [call for binding in ordered for call in self._calls(binding)]
        outputs = self._results(body.body)
        taken = {*inputs, *self.constants.values()}
        if any(buffer in taken for buffer in outputs) or len(set(outputs)) != len(outputs):
            raise _UnsupportedError
        params = [*inputs, *self.constants.values(), *outputs, *self.sizes]
        try:
            joined = join_functions(params, calls, attributes({"tir.noalias": True}))
        except LoweringError as error:
            raise _UnsupportedError from error
        kind = pattern_kind(joined)
        return Kernel(joined.with_attr(OP_PATTERN, int(kind)), tuple(self.constants))

    def _parameter(self, param: Var) -> tuple[Buffer, ...]:
        info = param.struct_info
        if isinstance(info, ShapeStructInfo):
            for value in info.values or ():
                if not isinstance(value, SizeVar):
                    raise _UnsupportedError
                self.sizes.append(value)
            return ()
        if not isinstance(info, TensorStructInfo):
            raise _UnsupportedError
        return self._declare(param, param.name_hint, info)

    def _declare(self, value: RelaxExpr, name: str, info: StructInfo | None) -> tuple[Buffer, ...]:
        self.buffers[value] = buffers = tuple(_buffers_for(name, info))
        return buffers

    def _calls(self, binding: Binding) -> list[FunctionCall]:
        """What a binding calls; no call for a field of a tuple."""
        value = binding.value
        if isinstance(value, TupleGetItem) and value.tuple_value in self.buffers:
            self.buffers[binding.var] = (self.buffers[value.tuple_value][value.index],)
            return []
        if isinstance(value, Var) and value in self.buffers:
            self.buffers[binding.var] = self.buffers[value]
            return []
        if isinstance(value, Tuple):
            self.buffers[binding.var] = self._results(value)
            return []
        callee = _callee(binding, self.mod)
        if not isinstance(value, Call) or callee is None:
            raise _UnsupportedError
        arguments: list[Buffer | Expr] = []
        for argument in kernel_arguments(binding):
            arguments.extend(self._argument(argument))
        name = binding.var.name_hint
        arguments.extend(self._declare(binding.var, name, binding.var.struct_info))
        for sizes in value.args[2:]:
            if not isinstance(sizes, ShapeExpr):
                raise _UnsupportedError
            arguments.extend(sizes.values)
        return [FunctionCall(callee, tuple(arguments))]

    def _argument(self, argument: RelaxExpr) -> tuple[Buffer, ...]:
        if isinstance(argument, Constant):
            if argument not in self.constants:
                name = f"constant_{len(self.constants)}"
                (buffer,) = _buffers_for(name, argument.struct_info)
                self.constants[argument] = buffer
            return (self.constants[argument],)
        found = self.buffers.get(argument)
        if found is None or not isinstance(argument.struct_info, TensorStructInfo):
            raise _UnsupportedError
        return found

    def _results(self, value: RelaxExpr) -> tuple[Buffer, ...]:
        if isinstance(value, Tuple) and value not in self.buffers:
            return tuple(buffer for field in value.fields for buffer in self._results(field))
        found = self.buffers.get(value)
        if found is None:
            raise _UnsupportedError
        return found


def _products_late(bindings: Sequence[Binding], mod: IRModule) -> list[Binding]:
    """Bindings with those that do not depend on a product in front of it, so that what reads both
    may be computed for each tile of the product."""
    ordered: list[Binding] = []
    waiting: dict[Var, Binding] = {}
    for binding in bindings:
        if _is_product(binding, mod) or any(node in waiting for node in walk(binding.value)):
            waiting[binding.var] = binding
        else:
            ordered.append(binding)
    return [*ordered, *waiting.values()]


def _is_product(binding: Binding, mod: IRModule) -> bool:
    """Whether a binding calls a tensor program each of whose operands is used again and again."""
    callee = _callee(binding, mod)
    if callee is None:
        return False
    kind = int(callee.attrs.get(OP_PATTERN, PatternKind.OPAQUE))
    return kind == PatternKind.OUT_EWISE_FUSABLE


def _callee(binding: Binding, mod: IRModule) -> PrimFunc | None:
    """The tensor program that a binding calls, if it does that and the module has it."""
    gvar = called_kernel(binding)
    callee = None if gvar is None or gvar not in mod else mod[gvar]
    return callee if isinstance(callee, PrimFunc) else None


def _buffers_for(name: str, info: StructInfo | None) -> list[Buffer]:
    """Buffers for an array, or for all arrays of a tuple."""
    if isinstance(info, TensorStructInfo) and info.extents is not None and info.dtype is not None:
        return [decl_buffer(info.extents, str(info.dtype), name)]
    if isinstance(info, TupleStructInfo):
        parts = enumerate(info.fields)
        return [buffer for n, field in parts for buffer in _buffers_for(f"{name}_{n}", field)]
    raise _UnsupportedError


# --- the module around the new programs ------------------------------------------------------


def _used_outside_groups(mod: IRModule) -> set[str]:
    """The names of functions that are used in another way than by calls with known sizes."""
    used: Counter[str] = Counter()
    for func in mod.functions.values():
        for node in walk(func):
            if isinstance(node, GlobalVar):
                used[node.name_hint] += 1
            elif isinstance(node, VarBinding) and _is_plain_call(node.value):
                used[node.value.op.name_hint] -= 1
    return {name for name, count in used.items() if count}


def _is_plain_call(value: RelaxExpr) -> bool:
    return (
        isinstance(value, Call)
        and isinstance(value.op, GlobalVar)
        and all(
            isinstance(arg, ShapeExpr) or not isinstance(arg.struct_info, ShapeStructInfo)
            for arg in value.args
        )
    )


def _replaced(mod: IRModule, joined: Mapping[GlobalVar, Kernel]) -> IRModule:
    """The module with tensor programs in place of functions, equal ones shared."""
    made = IRModule()
    known = SharedFunctions(made)
    shared: dict[GlobalVar, GlobalVar] = {}
    names: dict[PrimFunc, GlobalVar] = {}
    for var, kernel in joined.items():
        equal = names.get(kernel.func)
        if equal is None:
            equal = known.find(kernel.func)
        if equal is None:
            made.update_func(var, kernel.func)
            known.add(var, kernel.func)
        shared[var] = names[kernel.func] = var if equal is None else equal
    calls = _Calls(joined, shared)
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if var in made:
            functions[var] = made[var]
        elif var not in joined:
            functions[var] = calls(func) if isinstance(func, Function) else func
    return IRModule(functions, mod.attrs, mod.global_infos)


class _Calls(Rewriter):
    """Calls of functions that became tensor programs."""

    def __init__(
        self, joined: Mapping[GlobalVar, Kernel], shared: Mapping[GlobalVar, GlobalVar]
    ) -> None:
        self._joined, self._shared = joined, shared

    def VarBinding(self, binding: VarBinding) -> VarBinding:
        binding = binding.map_children(self)
        value = binding.value
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op in self._joined:
            return binding.replace(value=self._call(value, binding.var.struct_info))
        return binding

    def _call(self, call: Call, info: StructInfo | None) -> Call:
        assert isinstance(call.op, GlobalVar)
        assert info is not None
        constants = self._joined[call.op].constants
        arrays = [arg for arg in call.args if not isinstance(arg, ShapeExpr)]
        shapes = [arg for arg in call.args if isinstance(arg, ShapeExpr)]
        sizes = [value for shape in shapes for value in shape.values]
        args: list[RelaxExpr | GlobalVar] = [
            self._shared[call.op],
            Tuple([*arrays, *constants]),
            *([ShapeExpr(sizes)] if sizes else []),
        ]
        return Call(CALL_TIR, args, None, [info], info, call.span)


def _without_parts(before: IRModule, after: IRModule, joined: Iterable[GlobalVar]) -> IRModule:
    """`after` without the programs that were joined and that nobody calls any more."""
    parts = {
        node.name_hint
        for var in joined
        for node in walk(before[var])
        if isinstance(node, GlobalVar)
    }
    used: set[str] = set()
    for func in after.functions.values():
        for node in walk(func):
            if isinstance(node, GlobalVar):
                used.add(node.name_hint)
            elif isinstance(node, ExternFunc):
                used.add(node.global_symbol)
            elif isinstance(node, StringImm):
                used.add(node.value)
    for name in parts - used:
        if name in after and after[name].global_symbol is None:
            del after[name]
    return after
