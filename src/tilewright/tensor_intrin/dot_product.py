"""Four 8-bit integers times a panel of them: what dot-product instructions compute.

The names are ``dot_<lanes>x4_<A><B><C>``, such as ``dot_16x4_u8i8i32``: C[i] += A[k] * B[i, k] for
all lanes i and four k, where A and B are ``i8`` or ``u8`` and C is ``i32``, or ``u32`` if A and B
are unsigned. The lanes are 4, 8 or 16, as 128, 256 or 512 bits hold. The names by which these
intrinsics are known elsewhere, such as ``dot_16x4_vnni``, mean the same.

The implementation is `T.dp4a`, which means the same everywhere. Code for a processor with such
instructions has them: ``vpdpbusd`` (AVX-512 VNNI, AVX-VNNI), ``vpdpbssd``, ``vpdpbuud``, ``sdot``,
``udot``, ``usdot``. Where there is one for unsigned times signed numbers only, that is the fastest.
"""

# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

import re
from typing import Final

from tilewright.script import tir as T
from tilewright.tir.function import PrimFunc
from tilewright.tir.tensor_intrin import TensorIntrin

DTYPES: Final = {"i8": "int8", "u8": "uint8", "i32": "int32", "u32": "uint32"}

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
    parts = re.fullmatch(
        r"dot_(4|8|16)x4_(?:([iu]8)([iu]8)(i32)|(u8)(u8)(u32))", ALIASES.get(name, name)
    )
    if parts is None:
        return None
    lanes, *kinds = (part for part in parts.groups() if part is not None)
    a, b, c = (DTYPES[kind] for kind in kinds)
    return TensorIntrin(
        dot_product_desc(int(lanes), a, b, c), dot_product_impl(int(lanes), a, b, c)
    )


def dot_product_desc(lanes: int, a: str, b: str, c: str) -> PrimFunc:
    """What is computed: `lanes` sums of four products."""

    @T.prim_func
    def desc(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        A = T.match_buffer(A_handle, (4,), a, offset_factor=1)
        B = T.match_buffer(B_handle, (lanes, 4), b, offset_factor=1)
        C = T.match_buffer(C_handle, (lanes,), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:lanes], A[0:4], B[0:lanes, 0:4])
            T.writes(C[0:lanes])
            for i, k in T.grid(lanes, 4):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], c) * T.cast(B[vi, vk], c)

    return desc


def dot_product_impl(lanes: int, a: str, b: str, c: str) -> PrimFunc:
    """All of it at once: A is repeated for each lane, as the bits of one number."""
    count = 4 * lanes

    @T.prim_func
    def impl(A_handle: T.handle, B_handle: T.handle, C_handle: T.handle):
        A = T.match_buffer(A_handle, (4,), a, offset_factor=1)
        B = T.match_buffer(B_handle, (lanes, 4), b, offset_factor=1)
        C = T.match_buffer(C_handle, (lanes,), c, offset_factor=1)
        with T.block("root"):
            T.reads(C[0:lanes], A[0:4], B[0:lanes, 0:4])
            T.writes(C[0:lanes])
            rows = T.decl_buffer((count,), b, data=B.data, elem_offset=B.elem_offset)
            C[0:lanes] = T.dp4a(
                T.reinterpret(f"{a}x{count}", T.broadcast(T.reinterpret("int32", A[0:4]), lanes)),
                rows[0:count],
                C[0:lanes],
            )

    return impl
