"""A few small numbers times a panel of them: what dot-product instructions compute.

The names are ``dot_<lanes>x4_<A><B><C>``, such as ``dot_16x4_u8i8i32``: C[i] += A[k] * B[i, k] for
all lanes i and four k, where A and B are ``i8`` or ``u8`` and C is ``i32``, or ``u32`` if A and B
are unsigned. The lanes are 4, 8 or 16, as 128, 256 or 512 bits hold. The names by which these
intrinsics are known elsewhere, such as ``dot_16x4_vnni``, mean the same.

One of A and B may be ``i7`` if the other is ``u8``: an int8 from -64 to 64, which is not checked,
but known to whoever names the intrinsic.

``dot_<lanes>x2_i16i16i32`` and ``dot_<lanes>x2_bf16bf16f32`` do the same with pairs of int16, and
of bfloat16 with sums in float32.

``dots_`` in place of ``dot_`` means that both operands have numbers of their own for each lane,
side by side: C[i] += A[i * 4 + k] * B[i * 4 + k]. Lanes of a long sum are added at its end.

``mmla_2x2x8_<A><B><C>`` is the product of two rows and two columns, ``C[i, j] += A[i, k] * B[j,
k]`` for eight k; ``mmla_2x2x4_bf16bf16f32`` does the same with four bfloat16 each.

The implementation is `T.dp4a`, `T.dp4a_narrow`, `T.dp2a` or `T.mmla`, which means the same
everywhere. Code for a processor with such instructions has them: ``vpdpbusd`` (AVX-512 VNNI,
AVX-VNNI), ``vpdpbssd``, ``vpdpbuud``, ``sdot``, ``udot``, ``usdot``, ``pmaddubsw``; for pairs
``pmaddwd``, ``vpdpwssd``, ``vdpbf16ps``, ``bfdot``; for matrices ``smmla``, ``ummla``, ``usmmla``,
``bfmmla``. Where there is one for unsigned times signed numbers only, that is the fastest.
"""

# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from tilewright.ir.expr import Expr
from tilewright.script import tir as T
from tilewright.tensor_intrin.descriptions import product
from tilewright.tir.function import PrimFunc
from tilewright.tir.op import dp2a, dp4a, dp4a_narrow, mmla
from tilewright.tir.tensor_intrin import TensorIntrin

DTYPES: Final = {
    "i7": "int8",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "bf16": "bfloat16",
    "i32": "int32",
    "u32": "uint32",
    "f32": "float32",
}

ALIASES: Final = {
    "dot_16x4_vnni": "dot_16x4_u8i8i32",
    "dot_16x4_avx512": "dot_16x4_u8i8i32",
    "dot_4x4_i8i8s32_neon": "dot_4x4_i8i8i32",
    "dot_4x4_i8i8s32_sdot": "dot_4x4_i8i8i32",
    "dot_4x4_u8u8u32_udot": "dot_4x4_u8u8u32",
    "dot_4x4_u8u8i32_hdot": "dot_4x4_u8u8i32",
}
"""Names after instructions, and what they mean."""


def dot_product_named(name: str) -> TensorIntrin | None:
    """The intrinsic of that name, if it is one of these."""
    matrices = re.fullmatch(
        r"mmla_2x2x(?:(8)_(?:([iu]8)([iu]8)(i32)|(u8)(u8)(u32))|(4)_(bf16)(bf16)(f32))", name
    )
    if matrices is not None:
        size, *kinds = (part for part in matrices.groups() if part is not None)
        a, b, c = (DTYPES[kind] for kind in kinds)
        desc = product((2, 2, int(size)), (a, b, c), transposed=True)
        return TensorIntrin(desc, matrix_product_impl(int(size), a, b, c))
    parts = re.fullmatch(
        r"(dots?)_(4|8|16)x(?:(4)_(?:([iu]8)([iu]8)(i32)|(u8)(i7)(i32)|(i7)(u8)(i32)|(u8)(u8)(u32))|"
        r"(2)_(?:(i16)(i16)(i32)|(bf16)(bf16)(f32)))",
        ALIASES.get(name, name),
    )
    if parts is None:
        return None
    form, lanes, group, *kinds = (part for part in parts.groups() if part is not None)
    a, b, c = (DTYPES[kind] for kind in kinds)
    sizes = int(lanes), int(group)
    sums = dp2a if group == "2" else dp4a_narrow if "i7" in kinds else dp4a
    if form == "dots":
        desc = dot_products_desc(*sizes, a, b, c)
        return TensorIntrin(desc, dot_products_impl(*sizes, a, b, c, sums))
    return TensorIntrin(dot_product_desc(*sizes, a, b, c), dot_product_impl(*sizes, a, b, c, sums))


def dot_product_desc(lanes: int, group: int, a: str, b: str, c: str) -> PrimFunc:
    """What is computed: `lanes` sums of `group` products."""

    @T.prim_func
    def desc(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        A = T.match_buffer(A_handle, (group,), a, offset_factor=1)
        B = T.match_buffer(B_handle, (lanes, group), b, offset_factor=1)
        C = T.match_buffer(C_handle, (lanes,), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:lanes], A[0:group], B[0:lanes, 0:group])
            T.writes(C[0:lanes])
            for i, k in T.grid(lanes, group):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], c) * T.cast(B[vi, vk], c)

    return desc


def dot_product_impl(
    lanes: int, group: int, a: str, b: str, c: str, sums: Callable[[Any, Any, Any], Expr]
) -> PrimFunc:
    """All of it at once, by the operator `sums`: A is repeated for each lane, as the bits of one
    number."""
    count = group * lanes

    @T.prim_func
    def impl(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        A = T.match_buffer(A_handle, (group,), a, offset_factor=1)
        B = T.match_buffer(B_handle, (lanes, group), b, offset_factor=1)
        C = T.match_buffer(C_handle, (lanes,), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:lanes], A[0:group], B[0:lanes, 0:group])
            T.writes(C[0:lanes])
            rows = T.decl_buffer((count,), b, data=B.data, elem_offset=B.elem_offset)
            C[0:lanes] = sums(
                T.reinterpret(
                    f"{a}x{count}", T.broadcast(T.reinterpret("int32", A[0:group]), lanes)
                ),
                rows[0:count],
                C[0:lanes],
            )

    return impl


def dot_products_desc(lanes: int, group: int, a: str, b: str, c: str) -> PrimFunc:
    """What is computed: `lanes` sums of `group` products, each of numbers of its own."""
    count = group * lanes

    @T.prim_func
    def desc(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        A = T.match_buffer(A_handle, (count,), a, offset_factor=1)
        B = T.match_buffer(B_handle, (count,), b, offset_factor=1)
        C = T.match_buffer(C_handle, (lanes,), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:lanes], A[0:count], B[0:count])
            T.writes(C[0:lanes])
            for i, k in T.grid(lanes, group):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + (T.cast(A[vi * group + vk], c) * T.cast(B[vi * group + vk], c))

    return desc


def dot_products_impl(
    lanes: int, group: int, a: str, b: str, c: str, sums: Callable[[Any, Any, Any], Expr]
) -> PrimFunc:
    """All of it at once, by the operator `sums`."""
    count = group * lanes

    @T.prim_func
    def impl(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        A = T.match_buffer(A_handle, (count,), a, offset_factor=1)
        B = T.match_buffer(B_handle, (count,), b, offset_factor=1)
        C = T.match_buffer(C_handle, (lanes,), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:lanes], A[0:count], B[0:count])
            T.writes(C[0:lanes])
            C[0:lanes] = sums(A[0:count], B[0:count], C[0:lanes])

    return impl


def matrix_product_impl(size: int, a: str, b: str, c: str) -> PrimFunc:
    """All of it at once: the rows of A may be apart."""
    count = 2 * size

    @T.prim_func
    def impl(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        row = T.int32()
        A = T.match_buffer(A_handle, (2, size), a, strides=[row, 1], offset_factor=1)
        B = T.match_buffer(B_handle, (2, size), b, offset_factor=1)
        C = T.match_buffer(C_handle, (2, 2), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:2, 0:2], A[0:2, 0:size], B[0:2, 0:size])
            T.writes(C[0:2, 0:2])
            columns = T.decl_buffer((count,), b, data=B.data, elem_offset=B.elem_offset)
            sums = T.decl_buffer((4,), c, data=C.data, elem_offset=C.elem_offset)
            sums[0:4] = mmla(
                T.vectorcombine(f"{a}x{count}", A[0, 0:size], A[1, 0:size]),
                columns[0:count],
                sums[0:4],
            )

    return impl
