"""Kernels in a C of a device: where it differs from the C of the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import FLOAT32, DType, PointerType
from tilewright.ir.expr import Call, Expr, IntImm, Var, constant_product
from tilewright.target.codegen import MATH, EmitterTable
from tilewright.target.codegen.c import calls, expressions, statements  # noqa: F401, emitters
from tilewright.target.codegen.c.emitter import FunctionEmitter, Precedence, Text
from tilewright.target.codegen.c.emitter import emits as emits_c
from tilewright.target.codegen.c.statements import initializer
from tilewright.target.codegen.c.types import memory_type, value_type
from tilewright.target.codegen.device.dialect import DYNAMIC_MEMORY, Dialect
from tilewright.tir.buffer import storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.numerics import KERNELS
from tilewright.tir.stmt import Allocate, AllocateConst, AssertStmt, AttrStmt, Stmt
from tilewright.tir.transform.device.dynamic_memory import is_dynamic, size_of
from tilewright.tir.transform.device.fragments import tile_alignments
from tilewright.tir.transform.device.thread_axes import THREADS, Axis, axes_and_body, is_axis
from tilewright.tir.transform.device.vector_accesses import vector_sizes

emits = EmitterTable(emits_c)
"""Registers what is written otherwise than in the C of the host."""

HOST_CALLS: Final = (
    *calls.OBJECT_FUNCTIONS, "tir.tvm_call_packed", "tir.tvm_call_cpacked",
    "tir.tvm_call_trace_packed", "tir.tvm_call_packed_lowered", "tir.raise_error",
    "tir.print_text", "tir.lookup_param", "tir.ret",
)  # fmt: skip
"""What no kernel can do: objects, errors, functions of the host."""


class KernelEmitter(FunctionEmitter):
    """Writes one kernel.

    Attributes:
        dialect: the language.
        declarations: of the memory of a block and of constants, at the start of the kernel.
        alignments: of memory of a block whose address is a multiple of some number of bytes.
    """

    table = emits
    has_vectors = unrolls = True

    def __init__(self, helpers: dict[str, str], dialect: Dialect) -> None:
        super().__init__(helpers)
        self.dialect, self.target = dialect, dialect.name
        self.declarations: list[str] = []
        self.alignments: Mapping[Var, int] = {}
        self._parts: list[str] = []
        """The sizes of the parts so far of memory whose size is chosen by the launch."""
        self.names.reserve(dialect.keywords | MATH | {"rsqrt", "rsqrtf", DYNAMIC_MEMORY})

    def library(self, name: str, dtype: DType, args: Sequence[Expr]) -> str:
        end = "" if dtype.bits == 64 else self.dialect.float_suffix
        if not self.is_native(dtype):
            return f"{name}{end}({self.arguments(tuple(args))})"
        floats = ", ".join(self.as_float(arg) for arg in args)
        return f"tw_round_{self.half_helper(dtype)}({name}{end}({floats}))"

    def pointer_type(self, pointer: Var, element: DType) -> str:
        return f"{self.space_of(pointer)}{self.memory_type(element)}*"

    def space_of(self, pointer: Var) -> str:
        """The qualifier of pointers to the memory of a pointer, with a space behind it."""
        kind = storage_scope(pointer).partition(".")[0]
        return f"{self.dialect.spaces[kind]} " if self.dialect.spaces.get(kind) else ""

    def part_of_memory(self, stmt: Allocate) -> str:
        """The address of the next part of the memory that the launch gives to a block."""
        place = " + ".join([DYNAMIC_MEMORY, *self._parts])
        place = f"({place})" if self._parts else place
        self._parts.append(self.code(size_of(stmt), Precedence.SUM))
        return place

    @property
    def has_dynamic_memory(self) -> bool:
        """Whether the launch has to give memory to each block."""
        return bool(self._parts)

    def value_type(self, dtype: DType) -> str:
        return str(dtype) + "_t" if self.is_native(dtype) else value_type(dtype)

    def memory_type(self, dtype: DType) -> str:
        """The type of an element in memory; OpenCL has no `bool` there."""
        if self.is_native(dtype):
            return self.value_type(dtype)
        return "uint8_t" if dtype.is_bool else memory_type(dtype)

    def loaded(self, dtype: DType, element: str) -> str:
        return element if self.is_native(dtype) else super().loaded(dtype, element)

    def stored(self, dtype: DType, value: str) -> str:
        return value if self.is_native(dtype) else super().stored(dtype, value)

    def is_native(self, dtype: DType) -> bool:
        """Whether values of a half type are computed in this type, not in float."""
        native = dtype in self.dialect.native_halves
        if native:
            self.half_helper(dtype)
        return native

    def as_float(self, value: Expr) -> str:
        """A number as float where it is of a half type."""
        if not self.is_native(value.dtype):
            return self.code(value)
        return f"(float){self.code(value, Precedence.UNARY)}"


def write_kernel(name: str, func: PrimFunc, dialect: Dialect, helpers: dict[str, str]) -> str:
    """The definition of a kernel.

    Args:
        name: of the kernel.
        func: what it does, with its axes around.
        dialect: the language.
        helpers: sources of helper functions by name, to which those are added that it calls.
    """
    emitter = KernelEmitter(helpers, dialect)
    emitter.alignments = {**vector_sizes(func.body), **tile_alignments(func.body)}
    axes, body = axes_and_body(func.body)
    restrict = f" {dialect.restrict}" if func.attrs.get("tir.noalias", False) else ""
    parameters = ", ".join(_parameter(emitter, param, restrict) for param in func.params)
    for axis in axes:
        extent = f" of {axis.extent.value}" if isinstance(axis.extent, IntImm) else ""
        line = f"const {value_type(axis.var.dtype)} {emitter.names.define(axis.var)}"
        emitter.line(
            f"{line} = {dialect.indices[axis.tag]};{f'  // {extent[1:]}' if extent else ''}"
        )
        emitter.analyzer.bind_range(axis.var, IntImm(axis.var.dtype, 0), axis.extent)
    emitter.statement(body)
    if emitter.has_dynamic_memory:
        if dialect.dynamic_declaration:
            emitter.declarations.insert(0, f"  {dialect.dynamic_declaration}")
        else:
            parameters += f", {dialect.dynamic_parameter}"
    head = f"{kernel_head(axes, dialect)} {name}({parameters}) {{"
    return "\n".join([head, *emitter.declarations, *emitter.lines, "}"])


def kernel_head(axes: Sequence[Axis], dialect: Dialect) -> str:
    """What the definition of a kernel begins with.

    Raises:
        CodegenError: for a number of threads that is not a constant.
    """
    shape = [1, 1, 1]
    for axis in axes:
        if axis.tag in THREADS:
            if not isinstance(axis.extent, IntImm):
                raise CodegenError(
                    f"target {dialect.name}: {axis.extent} threads along {axis.tag}: the number of "
                    "threads of a block is a constant; split the loop, and bind the outer part to "
                    "blockIdx"
                )
            shape[THREADS.index(axis.tag)] = axis.extent.value
    return dialect.kernel.format(threads=math.prod(shape), shape=", ".join(map(str, shape)))


def _parameter(emitter: KernelEmitter, param: Var, restrict: str) -> str:
    annotation, name = param.type_annotation, emitter.names.define(param)
    if not isinstance(annotation, PointerType):
        return _scalar_parameter(emitter, param.dtype, name)
    return f"{emitter.pointer_type(param, annotation.element_type.dtype)}{restrict} {name}"


def _scalar_parameter(emitter: KernelEmitter, dtype: DType, name: str) -> str:
    """A number that the host passes: it has no half types, and OpenCL takes no truth values."""
    if not emitter.is_native(dtype):
        return f"{'uint8_t' if dtype.is_bool else value_type(dtype)} {name}"
    given = emitter.names.unique(f"{name}_given")
    rounded = f"tw_round_{emitter.half_helper(dtype)}({given})"
    emitter.line(f"const {emitter.value_type(dtype)} {name} = {rounded};")
    return f"float {given}"


@emits(AttrStmt)
def _attribute(emitter: KernelEmitter, stmt: AttrStmt) -> None:
    if is_axis(stmt):
        raise CodegenError(f"target {emitter.target}: a kernel starts inside of another one")
    emitter.statement(stmt.body)


@emits(Allocate)
def _allocate(emitter: KernelEmitter, stmt: Allocate) -> None:
    scope, name = storage_scope(stmt.buffer_var), emitter.names.define(stmt.buffer_var)
    if is_dynamic(stmt):
        pointer = emitter.pointer_type(stmt.buffer_var, stmt.dtype)
        emitter.line(f"{pointer} {name} = ({pointer}){emitter.part_of_memory(stmt)};")
        emitter.statement(stmt.body)
        return
    elements = constant_product(stmt.extents)
    if elements is None:
        raise CodegenError(
            f"target {emitter.target}: memory inside of a kernel has a constant size, and that of "
            f"{stmt.buffer_var.name} is {' * '.join(map(str, stmt.extents))}"
        )
    declaration = f"{emitter.memory_type(stmt.dtype)} {name}[{max(elements, 1)}]"
    is_shared = owner_of(scope) is MemoryOwner.BLOCK
    least = emitter.dialect.shared_alignment if is_shared else 1
    alignment = max(emitter.alignments.get(stmt.buffer_var, 1), least)
    if alignment > 1:
        declaration += f" {emitter.dialect.aligned.format(size=alignment)}"
    if is_shared:
        emitter.declarations.append(f"  {emitter.dialect.shared} {declaration};")
    else:
        emitter.line(f"{declaration};")
    emitter.statement(stmt.body)


@emits(AllocateConst)
def _constant(emitter: KernelEmitter, stmt: AllocateConst) -> None:
    name = emitter.names.define(stmt.buffer_var)
    qualifiers = f"{emitter.dialect.constant} {emitter.memory_type(stmt.dtype)}"
    emitter.declarations.append(f"  {qualifiers} {name}[] = {{{initializer(emitter, stmt)}}};")
    emitter.statement(stmt.body)


@emits(AssertStmt)
def _assertion(emitter: KernelEmitter, stmt: AssertStmt) -> Stmt:
    raise CodegenError(
        f"target {emitter.target}: a kernel cannot report that {stmt.message} failed; check it "
        "before, outside of the loops over threads"
    )


@emits("tir.tvm_storage_sync")
def _barrier(emitter: KernelEmitter, call: Call) -> Text:
    del call
    return Text(emitter.dialect.barrier)


@emits("tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down")
def _shuffle(emitter: KernelEmitter, call: Call) -> Text:
    function = emitter.dialect.shuffles.get(call.op.name.removeprefix("tir.tvm_warp_"))  # type: ignore[attr-defined]
    if function is None:
        raise CodegenError(
            f"target {emitter.target}: threads cannot exchange values by `{call!r}`; use shared "
            "memory, or target cuda"
        )
    mask, value, lane, width, _ = call.args
    if emitter.is_native(call.dtype):  # a structure
        half = emitter.half_helper(call.dtype)
        texts = (emitter.code(mask), f"tw_store_{half}({emitter.code(value)})")
        places = emitter.arguments((lane, width))
        return Text(f"tw_load_{half}((uint16_t){function}({', '.join(texts)}, {places}))")
    text = f"{function}({emitter.arguments((mask, value, lane, width))})"
    if call.dtype.bits < 32 and not call.dtype.is_float:
        return Text(f"({value_type(call.dtype)}){text}", Precedence.UNARY)
    return Text(text)


@emits("tir.tvm_warp_activemask")
def _active_lanes(emitter: KernelEmitter, call: Call) -> Text:
    if not emitter.dialect.shuffles:
        raise CodegenError(f"target {emitter.target}: kernels know no warps, as `{call!r}` needs")
    return Text("__activemask()")


@emits("tir.popcount", "tir.clz")
def _count_bits(emitter: KernelEmitter, call: Call) -> Text:
    name, bits = call.op.name.removeprefix("tir."), call.args[0].dtype.bits  # type: ignore[attr-defined]
    wide = 64 if bits == 64 else 32
    value = f"(uint{bits}_t){emitter.code(call.args[0], Precedence.UNARY)}"
    if bits < wide:
        value = f"(uint{wide}_t){value}"
    count = f"{emitter.dialect.bit_functions[name, wide]}({value})"
    if name == "clz" and wide != bits:
        return Text(f"{count} - {wide - bits}", Precedence.SUM)
    return emitter.round(call.dtype, Text(count))


@emits(*HOST_CALLS)
def _host_call(emitter: KernelEmitter, call: Call) -> Text:
    raise CodegenError(
        f"target {emitter.target}: `{call!r}` is work of the host; move it out of the loops over "
        "threads"
    )


@emits(*(f"tir.{name}" for name in (*KERNELS, "rsqrt") if name != "sigmoid"))
def _function(emitter: KernelEmitter, call: Call) -> Text:
    """Devices have these themselves."""
    name = call.op.name.removeprefix("tir.").removesuffix("_nonpositive")  # type: ignore[attr-defined]
    return emitter.round(call.dtype, Text(emitter.library(name, call.dtype, call.args)))


@emits("tir.sigmoid")
def _sigmoid(emitter: KernelEmitter, call: Call) -> Text:
    if emitter.is_native(call.dtype):
        wide = cast(FLOAT32, call.args[0])
        return emitter.text(cast(call.dtype, Call(FLOAT32, call.op, (wide,))))
    opposite = as_expr(-call.args[0])
    power = emitter.library("exp", call.dtype, (opposite,))
    return emitter.round(call.dtype, Text(f"1 / (1 + {power})", Precedence.PRODUCT))
