"""Addresses, loads and stores."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Add, Broadcast, Cast, Expr, IntImm, Mul, Ramp, Shuffle, Sub, Var
from tilewright.target.codegen.llvm.expressions import Expressions
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.register_window import RegisterWindow
from tilewright.target.codegen.llvm.strided import is_strided, neighbours_of
from tilewright.target.codegen.llvm.types import HALVES, mangled, memory_type, splat, value_type
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore

_WIDE_OPS: Final[dict[type, str]] = {Add: "add", Sub: "sub", Mul: "mul"}

_READS: Final = ("load ", "phi ", "icmp ", "select ", "extractvalue ", "or ")
"""How instructions begin that change no memory."""


class Memory(Expressions):
    """Adds loads and stores to the expressions."""

    def __init__(self, module: ModuleText) -> None:
        Expressions.__init__(self, module)
        self._window = RegisterWindow(module.target.vector_registers)
        self._window_block = ""
        self.streamed: set[Var] = set()
        """Memory to which whole vectors are stored past the caches: it is aligned."""

    # --- addresses ----------------------------------------------------------------------------

    def index(self, expr: Expr) -> str:
        """An integer expression as an i64 register or constant.

        What is made of 32-bit sums and products is computed with 64 bits, so the positions in an
        array of more than 2**31 elements are right.
        """
        if isinstance(expr, IntImm):
            return str(expr.value)
        op = _WIDE_OPS.get(expr.__class__)
        if op is not None and expr.dtype is INT32:
            a, b = self.index(expr.a), self.index(expr.b)  # type: ignore[attr-defined]
            return self.pure(f"{op} i64 {a}, {b}", a, b)
        return self.cast(self.operand(expr), expr.dtype, DType("int64"))

    def _linear(self, expr: Any, factor: int, terms: dict[str, int]) -> int:
        """Add `factor * expr` to `terms`; returns the constant part."""
        kind = expr.__class__
        if kind is IntImm:
            return factor * expr.value
        if kind is Add:
            return self._linear(expr.a, factor, terms) + self._linear(expr.b, factor, terms)
        if kind is Sub:
            return self._linear(expr.a, factor, terms) + self._linear(expr.b, -factor, terms)
        if kind is Mul:
            if expr.b.__class__ is IntImm:
                return self._linear(expr.a, factor * expr.b.value, terms)
            if expr.a.__class__ is IntImm:
                return self._linear(expr.b, factor * expr.a.value, terms)
        elif kind is Cast and _widens(expr):
            # Index arithmetic does not overflow, so it may be done in the wider type.
            return self._linear(expr.value, factor, terms)
        register = self.index(expr)
        terms[register] = terms.get(register, 0) + factor
        return 0

    def address(self, buffer: Buffer, index: Expr) -> str:
        """The address of element `index` of a flat buffer.

        The pointer moves step by step, one loop level at a time, so that each level computes its
        part once; the constant part comes last and is free.
        """
        element = memory_type(buffer.dtype.element)
        pointer = self.operand(buffer.data)
        terms: dict[str, int] = {}
        constant = self._linear(index, buffer.dtype.lanes, terms)
        ordered = terms.items()
        if len(terms) > 1:
            ordered = sorted(ordered, key=lambda item: self.level((item[0],)))
        for register, factor in ordered:
            if not factor:
                continue
            offset = register
            if factor != 1:
                offset = self.pure(f"mul i64 {register}, {factor}", register)
            pointer = self.pure(
                f"getelementptr {element}, ptr {pointer}, i64 {offset}", pointer, offset
            )
        if constant:
            code = f"getelementptr {element}, ptr {pointer}, i64 {constant}"
            pointer = self.pure(code, pointer)
        return pointer

    def _addresses(self, buffer: Buffer, index: Expr) -> str:
        """A vector of addresses."""
        lanes, element = index.dtype.lanes, memory_type(buffer.dtype)
        if buffer.dtype.lanes != 1:
            raise CodegenError(
                f"target llvm: buffer {buffer.name} has the dtype {buffer.dtype!s}, so vectors of "
                "its elements have to be neighbours"
            )
        wide = DType("int64").with_lanes(lanes)
        offsets = self.cast(self.operand(index), index.dtype, wide)
        pointer = self.operand(buffer.data)
        return self.pure(
            f"getelementptr {element}, ptr {pointer}, <{lanes} x i64> {offsets}", pointer, offsets
        )

    # --- values in memory ---------------------------------------------------------------------

    def from_memory(self, raw: str, dtype: DType) -> str:
        """The register value of what was loaded."""
        if dtype.element in HALVES:
            return self.widened(raw, dtype)
        if dtype.is_bool:
            zero = splat("i8", "0", dtype.lanes)
            return self.pure(f"icmp ne {memory_type(dtype)} {raw}, {zero}", raw)
        return raw

    def to_memory(self, value: str, dtype: DType) -> str:
        """What is stored for a register value."""
        if dtype.element in HALVES:
            return self.narrowed(value, dtype)
        if dtype.is_bool:
            return self.pure(f"zext {value_type(dtype)} {value} to {memory_type(dtype)}", value)
        return value

    # --- registers ----------------------------------------------------------------------------

    def _plain_load(self, buffer: Buffer, ty: str, pointer: str, align: int) -> str:
        """The value at `pointer`; LLVM does not keep it for longer than there is a register."""
        window, place = self._window_here(), (ty, pointer)
        code = f"load {ty}, ptr {pointer}, align {align}"
        if buffer.scope() == "local":
            window.hold(pointer, pointer)
            return super().value(code)
        found = window.held(place)
        if found is None:
            if window.was_loaded(place):
                # The loads before it and behind it are different values to LLVM.
                self.effect('call void asm sideeffect "", "~{memory}"()')
            found = super().value(code)
            window.load(place, found)
        else:
            window.hold(place, found)
        return found

    def _plain_store(self, buffer: Buffer, ty: str, raw: str, pointer: str, align: int) -> None:
        code = f"store {ty} {raw}, ptr {pointer}, align {align}"
        if buffer.scope() == "local":
            self._window_here().hold(pointer, pointer)
            super().effect(code)
        else:
            self.effect(code)

    def _streaming_store(self, ty: str, raw: str, pointer: str, align: int) -> None:
        """Store a whole vector, aligned to its size, past the caches."""
        self.module.needs_nontemporal = True
        self.effect(f"store {ty} {raw}, ptr {pointer}, align {align}, !nontemporal !0")

    def _window_here(self) -> RegisterWindow:
        """The window of the basic block that is being written."""
        if self._window_block != self.region.block:
            self._window_block = self.region.block
            self._window.clear()
        return self._window

    def effect(self, code: str) -> None:
        """Write an instruction without result, which may change memory."""
        if "@llvm.prefetch" not in code:
            self._window.clear()
        super().effect(code)

    def value(self, code: str) -> str:
        """A register with the value of an instruction that must stay where it is."""
        if not code.startswith(_READS) and "@llvm.masked.load" not in code:
            self._window.clear()
        return super().value(code)

    # --- loads --------------------------------------------------------------------------------

    def load(self, load: BufferLoad) -> str:
        index = _single_index(load)
        if _is_backwards(index) and load.buffer.dtype.lanes == 1:
            forwards = _forwards(index, load.predicate)
            return self.operand(_reversed(load.replace(**forwards)))
        dtype, lanes = load.dtype, load.dtype.lanes
        ty, align = memory_type(dtype), load.buffer.dtype.element.itemsize
        if index.dtype.lanes == 1:
            pointer = self.address(load.buffer, index)
            if load.predicate is not None:
                return self._guarded_load(load, pointer)
            return self.from_memory(self._plain_load(load.buffer, ty, pointer, align), dtype)
        if isinstance(index, Broadcast) and load.predicate is None and load.buffer.dtype.lanes == 1:
            scalar = load.buffer.dtype
            element_type = memory_type(scalar)
            pointer = self.address(load.buffer, index.value)
            raw = self._plain_load(load.buffer, element_type, pointer, align)
            return self.broadcast(self.from_memory(raw, scalar), scalar, index.lanes)
        if _is_contiguous(index):
            pointer = self.address(load.buffer, index.base)  # type: ignore[attr-defined]
            if load.predicate is None:
                raw = self._plain_load(load.buffer, ty, pointer, align)
                return self.from_memory(raw, dtype)
            mask = self._mask(load.predicate, lanes)
            function = self._masked("load", dtype, ty, ("ptr",), ty)
            raw = self.value(
                f"call {ty} {function}(ptr {pointer}, i32 {align}, <{lanes} x i1> {mask}, "
                f"{ty} zeroinitializer)"
            )
            return self.from_memory(raw, dtype)
        if is_strided(index) and load.buffer.dtype.lanes == 1:
            return self.operand(neighbours_of(load))
        return self._gather(load, index)

    def _guarded_load(self, load: BufferLoad, pointer: str) -> str:
        """A scalar load that happens only if its predicate holds; 0 otherwise."""
        assert load.predicate is not None
        ty, align = memory_type(load.dtype), load.buffer.dtype.element.itemsize
        condition = self.operand(load.predicate)
        return self.choose(
            condition,
            lambda: self.from_memory(
                self.value(f"load {ty}, ptr {pointer}, align {align}"), load.dtype
            ),
            lambda: self.constant(0, load.dtype),
            load.dtype,
        )

    def _gather(self, load: BufferLoad, index: Expr) -> str:
        dtype, lanes = load.dtype, load.dtype.lanes
        ty, align = memory_type(dtype), load.buffer.dtype.element.itemsize
        pointers = self._addresses(load.buffer, index)
        mask = splat("i1", "true", lanes)
        if load.predicate is not None:
            mask = self._mask(load.predicate, lanes)
        function = self._masked("gather", dtype, ty, (f"<{lanes} x ptr>",), ty)
        raw = self.value(
            f"call {ty} {function}(<{lanes} x ptr> {pointers}, i32 {align}, "
            f"<{lanes} x i1> {mask}, {ty} zeroinitializer)"
        )
        return self.from_memory(raw, dtype)

    def _mask(self, predicate: Expr, lanes: int) -> str:
        mask = self.operand(predicate)
        if predicate.dtype.lanes == 1:
            return self.broadcast(mask, predicate.dtype, lanes)
        return mask

    def _masked(
        self, kind: str, dtype: DType, ty: str, pointers: tuple[str, ...], result: str
    ) -> str:
        """Declare a masked memory intrinsic."""
        lanes = dtype.lanes
        bits = DType(
            "int16" if dtype.element in HALVES else "int8" if dtype.is_bool else dtype.element
        )
        suffix = mangled(bits.with_lanes(lanes))
        vector = kind in ("gather", "scatter")
        name = f"llvm.masked.{kind}.{suffix}.{f'v{lanes}p0' if vector else 'p0'}"
        mask = f"<{lanes} x i1>"
        if kind in ("load", "gather"):
            return self.module.declare(name, result, (*pointers, "i32", mask, ty))
        return self.module.declare(name, "void", (ty, *pointers, "i32", mask))

    # --- stores -------------------------------------------------------------------------------

    def store(self, store: BufferStore) -> None:
        """Write a store."""
        index = _single_index(store)
        if _is_backwards(index) and store.buffer.dtype.lanes == 1:
            value = _reversed(store.value)
            self.store(store.replace(value=value, **_forwards(index, store.predicate)))
            return
        dtype = store.value.dtype
        ty, align = memory_type(dtype), store.buffer.dtype.element.itemsize
        value = self.operand(store.value)
        if index.dtype.lanes == 1:
            raw = self.to_memory(value, dtype)
            pointer = self.address(store.buffer, index)
            if store.predicate is None:
                self._plain_store(store.buffer, ty, raw, pointer, align)
            else:
                self._guarded_store(
                    store.predicate, f"store {ty} {raw}, ptr {pointer}, align {align}"
                )
            return
        raw, lanes = self.to_memory(value, dtype), dtype.lanes
        mask = splat("i1", "true", lanes)
        if store.predicate is not None:
            mask = self._mask(store.predicate, lanes)
        if _is_contiguous(index):
            pointer = self.address(store.buffer, index.base)  # type: ignore[attr-defined]
            if store.predicate is None:
                if store.buffer.data in self.streamed:
                    self._streaming_store(ty, raw, pointer, lanes * align)
                else:
                    self._plain_store(store.buffer, ty, raw, pointer, align)
                return
            function = self._masked("store", dtype, ty, ("ptr",), "void")
            self.effect(
                f"call void {function}({ty} {raw}, ptr {pointer}, i32 {align}, "
                f"<{lanes} x i1> {mask})"
            )
            return
        pointers = self._addresses(store.buffer, index)
        function = self._masked("scatter", dtype, ty, (f"<{lanes} x ptr>",), "void")
        self.effect(
            f"call void {function}({ty} {raw}, <{lanes} x ptr> {pointers}, i32 {align}, "
            f"<{lanes} x i1> {mask})"
        )

    def _guarded_store(self, predicate: Expr, code: str) -> None:
        condition = self.operand(predicate)
        then, after = self.label("then"), self.label("after")
        self.branch(condition, then, after)
        self.start_block(then)
        self.effect(code)
        self.jump(after)
        self.start_block(after)


def _single_index(access: Any) -> Expr:
    if len(access.indices) != 1:
        raise CodegenError(f"target llvm: `{access!r}` is not one-dimensional; flatten it first")
    return access.indices[0]


def _widens(expr: Cast) -> bool:
    """Whether `expr` converts a signed integer to one that is at least as wide."""
    source, target = expr.value.dtype, expr.dtype
    return source.is_int and target.is_int and target.bits >= source.bits


def _is_contiguous(index: Expr) -> bool:
    return isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == 1


def _is_backwards(index: Expr) -> bool:
    return isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == -1


def _reversed(vector: Expr) -> Expr:
    """The lanes of a vector, last first."""
    lanes = vector.dtype.lanes
    return Shuffle((vector,), tuple(IntImm(INT32, lanes - 1 - lane) for lane in range(lanes)))


def _forwards(index: Any, predicate: Expr | None) -> dict[str, Any]:
    """The index and the predicate of an access that goes backwards, in the other direction."""
    first = index.base - (index.lanes - 1)
    forwards = Ramp(first, IntImm(index.stride.dtype, 1), index.lanes)
    if predicate is not None and predicate.dtype.lanes > 1:
        predicate = _reversed(predicate)
    return {"indices": (forwards,), "predicate": predicate}
