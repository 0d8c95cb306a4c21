"""Products of small matrices, as the tensor cores of NVIDIA's GPUs compute them.

The names are those that TVM gives to them, such as::

    wmma_fill_16x16x16_f32                  C[i, j] = 0
    wmma_load_16x16x16_f16_a_shared         a tile from shared memory into registers
    wmma_load_16x16x16_f16_b_trans_shared   the second operand, with its columns as rows
    wmma_sync_16x16x16_f16f16f32            C[i, j] += A[i, k] * B[k, j]
    wmma_sync_16x16x16_f16f16f32_trans      C[i, j] += A[i, k] * B[j, k]
    wmma_store_16x16x16_f32_shared          a tile of results from registers

Shapes are m, n and k. Memory is ``shared``, ``shared_dyn`` or ``global``; types are ``f16``,
``bf16``, ``tf32`` (float32 of less precision), ``s8``, ``u8`` with results in ``f32``, ``f16`` or
``s32``. Which shapes there are for which types says `SHAPES`.

``wmma`` leaves it to the hardware which thread has which element. Those that begin with ``mma``,
such as ``mma_load_m16n8k16_f16_A_shared``, have the layouts of the PTX manual, and load by
``ldmatrix``. They fill, which is called ``mma_init_m16n8k16_f32``, multiply and store likewise.

The threads of a warp execute each together: there must be no loop over ``threadIdx.x`` around.
"""

# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from tilewright.ir.dtype import DType
from tilewright.script import tir as T
from tilewright.tensor_intrin.descriptions import copy, product, zeros
from tilewright.tir.tensor_intrin import TensorIntrin

DTYPES: Final = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "tf32": "float32",
    "s8": "int8", "u8": "uint8", "s32": "int32",
}  # fmt: skip

_WIDE: Final = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
SHAPES: Final = {
    "wmma": {"f16": _WIDE, "bf16": _WIDE, "s8": _WIDE, "u8": _WIDE, "tf32": ((16, 16, 8),)},
    "mma": {
        "f16": ((16, 8, 8), (16, 8, 16)),
        "bf16": ((16, 8, 16),),
        "s8": ((16, 8, 32),),
        "u8": ((16, 8, 32),),
    },
}
"""The shapes of products by family of instructions and type of the operands."""

RESULTS: Final = {
    "f16": ("f32", "f16"), "bf16": ("f32",), "tf32": ("f32",), "s8": ("s32",), "u8": ("s32",),
}  # fmt: skip
"""The types of results by type of the operands."""

_SHAPE = r"(\d+x\d+x\d+|m\d+n\d+k\d+)"
_MEMORY = r"(shared_dyn|shared|global)"
_FORMS: Final = {
    "fill": re.compile(rf"(?:wmma_fill|mma_init)_{_SHAPE}_(f32|f16|s32)"),
    "load": re.compile(rf"w?mma_load_{_SHAPE}_([a-z]+\d+)_([abAB])(_trans)?_{_MEMORY}"),
    "multiply": re.compile(rf"w?mma_sync_{_SHAPE}_([a-z]+?\d+)([a-z]+?\d+)(f32|f16|s32)(_trans)?"),
    "store": re.compile(rf"w?mma_store_{_SHAPE}_(f32|f16|s32)_{_MEMORY}"),
}


class Unit(NamedTuple):
    """A product that a tensor core computes.

    Attributes:
        family: ``"wmma"`` or ``"mma"``.
        m: number of rows of the result.
        n: number of its columns.
        k: number of steps of the sum.
    """

    family: str
    m: int
    n: int
    k: int

    @staticmethod
    def named(name: str) -> Unit:
        """The unit of which a name speaks."""
        shape = re.search(_SHAPE, name)
        assert shape is not None
        m, n, k = map(int, re.findall(r"\d+", shape[1]))
        return Unit(name.partition("_")[0], m, n, k)

    def scope(self, role: str) -> str:
        """The storage scope of the fragments of a role, ``"a"``, ``"b"`` or ``"c"``."""
        if self.family == "wmma":
            return "wmma." + {"a": "matrix_a", "b": "matrix_b", "c": "accumulator"}[role]
        return f"m{self.m}n{self.n}k{self.k}.matrix{role.upper()}"

    def multiplies(self, *codes: str) -> bool:
        """Whether there is such a unit for these types of operands."""
        known = SHAPES[self.family]
        return all((self.m, self.n, self.k) in known.get(code, ()) for code in codes)

    def fills(self, code: str) -> bool:
        """Whether there is such a unit with results of this type."""
        return any(code in RESULTS[operand] and self.multiplies(operand) for operand in RESULTS)


def tensor_core_intrinsic_named(name: str) -> TensorIntrin | None:
    """The intrinsic of that name, if it is one of these."""
    for form, pattern in _FORMS.items():
        match = pattern.fullmatch(name)
        if match is not None:
            return _MAKERS[form](Unit.named(name), match)
    return None


def _fill(unit: Unit, match: re.Match[str]) -> TensorIntrin | None:
    return fill(unit, DTYPES[match[2]]) if unit.fills(match[2]) else None


def _load(unit: Unit, match: re.Match[str]) -> TensorIntrin | None:
    code, role, trans, memory = match.groups()[1:]
    if not unit.multiplies(code) or role.isupper() == (unit.family == "wmma"):
        return None
    if unit.family == "mma" and not _has_ldmatrix(code, role, trans is not None, memory):
        return None
    return load(unit, DTYPES[code], role.lower(), bool(trans), _scope_of(memory))


def _has_ldmatrix(code: str, role: str, trans: bool, memory: str) -> bool:
    """Whether ``ldmatrix`` loads an operand: it turns matrices of elements of 16 bits only."""
    is_turned = trans if role == "A" else not trans
    turns = role == "B" and code.endswith("16")
    return memory != "global" and (turns or not is_turned)


def _multiply(unit: Unit, match: re.Match[str]) -> TensorIntrin | None:
    a, b, c, trans = match.groups()[1:]
    if not unit.multiplies(a, b) or a != b or c not in RESULTS[a]:
        return None
    if unit.family == "mma" and not _has_ldmatrix(b, "B", trans is not None, "shared"):
        return None
    return multiply(unit, DTYPES[a], DTYPES[c], bool(trans))


def _store(unit: Unit, match: re.Match[str]) -> TensorIntrin | None:
    code, memory = match.groups()[1:]
    return store(unit, DTYPES[code], _scope_of(memory)) if unit.fills(code) else None


_MAKERS: Final[dict[str, Callable[[Unit, re.Match[str]], TensorIntrin | None]]] = {
    "fill": _fill, "load": _load, "multiply": _multiply, "store": _store,
}  # fmt: skip


def _scope_of(memory: str) -> str:
    return memory.replace("_", ".")


def _factor(dtype: str) -> int:
    """Number of elements of 16 bytes, at multiples of which tiles start."""
    return 128 // DType(dtype).bits


def fill(unit: Unit, dtype: str) -> TensorIntrin:
    """A tile of zeros."""
    m, n, k, scope = unit.m, unit.n, unit.k, unit.scope("c")

    @T.prim_func
    def impl(c: T.handle):
        s1, s0 = T.int32(), T.int32()
        C = T.match_buffer(c, (m, n), dtype, strides=[s1, s0], offset_factor=1, scope=scope)
        with T.block("root"):
            T.reads()
            T.writes(C[0:m, 0:n])
            T.evaluate(
                T.tvm_fill_fragment(C.data, m, n, k, C.elem_offset // (m * n), T.cast(0, dtype))
            )

    return TensorIntrin(zeros(m, n, dtype, scope), impl)


def load(unit: Unit, dtype: str, role: str, trans: bool, memory: str) -> TensorIntrin:
    """A tile of an operand, as it lies in memory."""
    m, n, k, scope, factor = unit.m, unit.n, unit.k, unit.scope(role), _factor(dtype)
    rows, columns = (m, k) if role == "a" else (k, n)
    if trans:
        rows, columns = columns, rows
    layout = "col_major" if trans else "row_major"

    @T.prim_func
    def impl(a: T.handle, f: T.handle):
        s1, s0, d1, d0 = T.int32(), T.int32(), T.int32(), T.int32()
        A = T.match_buffer(
            a, (rows, columns), dtype, strides=[s1, s0], offset_factor=factor, scope=memory
        )
        F = T.match_buffer(
            f, (rows, columns), dtype, strides=[d1, d0], offset_factor=1, scope=scope
        )
        with T.block("root"):
            T.reads(A[0:rows, 0:columns])
            T.writes(F[0:rows, 0:columns])
            T.evaluate(
                T.tvm_load_matrix_sync(
                    F.data, m, n, k, F.elem_offset // (rows * columns), A.access_ptr("r"), s1,
                    layout,
                )
            )  # fmt: skip

    return TensorIntrin(copy(rows, columns, dtype, memory, scope), impl)


def multiply(unit: Unit, operand: str, result: str, trans: bool) -> TensorIntrin:
    """The product of two tiles, added to a tile of results."""
    m, n, k = unit.m, unit.n, unit.k
    rows, columns = (n, k) if trans else (k, n)
    a_scope, b_scope, c_scope = (unit.scope(role) for role in "abc")

    @T.prim_func
    def impl(a: T.handle, b: T.handle, c: T.handle):
        a1, a0, b1, b0, c1, c0 = (
            T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32(),
        )  # fmt: skip
        A = T.match_buffer(a, (m, k), operand, strides=[a1, a0], offset_factor=1, scope=a_scope)
        B = T.match_buffer(
            b, (rows, columns), operand, strides=[b1, b0], offset_factor=1, scope=b_scope
        )
        C = T.match_buffer(c, (m, n), result, strides=[c1, c0], offset_factor=1, scope=c_scope)
        with T.block("root"):
            T.reads(C[0:m, 0:n], A[0:m, 0:k], B[0:rows, 0:columns])
            T.writes(C[0:m, 0:n])
            T.evaluate(
                T.tvm_mma_sync(
                    C.data, C.elem_offset // (m * n), A.data, A.elem_offset // (m * k),
                    B.data, B.elem_offset // (k * n), C.data, C.elem_offset // (m * n),
                )
            )  # fmt: skip

    desc = product(
        (m, n, k), (operand, operand, result), (a_scope, b_scope, c_scope), transposed=trans
    )
    return TensorIntrin(desc, impl)


def store(unit: Unit, dtype: str, memory: str) -> TensorIntrin:
    """A tile of results, into memory."""
    m, n, k, scope, factor = unit.m, unit.n, unit.k, unit.scope("c"), _factor(dtype)

    @T.prim_func
    def impl(f: T.handle, c: T.handle):
        s1, s0, d1, d0 = T.int32(), T.int32(), T.int32(), T.int32()
        F = T.match_buffer(f, (m, n), dtype, strides=[s1, s0], offset_factor=1, scope=scope)
        C = T.match_buffer(c, (m, n), dtype, strides=[d1, d0], offset_factor=factor, scope=memory)
        with T.block("root"):
            T.reads(F[0:m, 0:n])
            T.writes(C[0:m, 0:n])
            T.evaluate(
                T.tvm_store_matrix_sync(
                    F.data, m, n, k, F.elem_offset // (m * n), C.access_ptr("w"), d1, "row_major"
                )
            )

    return TensorIntrin(copy(m, n, dtype, scope, memory), impl)
