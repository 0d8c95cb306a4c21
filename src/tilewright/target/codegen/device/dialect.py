"""The languages of kernels: what each calls memory, threads and barriers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tilewright.target.codegen.c.prelude import BFLOAT


class Dialect(NamedTuple):
    """A C of kernels.

    Attributes:
        name: the kind of target.
        prelude: what sources begin with.
        kernel: what the definition of a kernel begins with; ``{threads}`` is the number of threads
            of a block in total, ``{shape}`` that along x, y and z.
        spaces: qualifiers of pointers, by the storage scope of what they point to.
        shared: the qualifier of memory of a block.
        restrict: the qualifier of pointers that no other one overlaps.
        constant: the qualifier of memory in kernels that nothing writes.
        helper: what the definition of a helper function begins with.
        indices: the index of a block or thread, by the tag of its axis.
        barrier: the statement in which all threads of a block meet.
        float_suffix: what the names of functions of float32 end with.
        shuffles: functions by which threads of a warp exchange values, by ``shuffle``,
            ``shuffle_up`` or ``shuffle_down``.
        bit_functions: functions that count ones and leading zeros, by ``popcount`` or ``clz`` and
            the number of bits.
        native_halves: half types that the language computes with.
        vectors: the names of vector types without the number of lanes, by the type of an element.
        vector_structure: the definition of a vector type of more than four lanes, empty where the
            language has these; ``{size}`` is in bytes.
        vector_value: a vector of given lanes.
        aligned: behind the declaration of memory at a multiple of ``{size}`` bytes.
        shared_alignment: bytes at multiples of which memory of a block starts at least.
        dynamic_parameter: the last parameter of kernels that have memory of a block whose size the
            launch chooses; empty where `dynamic_declaration` stands for it.
        dynamic_declaration: the declaration of this memory in a kernel.
        copy_async: the source of helpers that copy into shared memory in the background.
        helpers: sources of helper functions, by name, where they differ from those of the host.
        keywords: names that programs cannot have.
    """

    name: str
    prelude: str
    kernel: str
    spaces: Mapping[str, str]
    shared: str
    dynamic_parameter: str
    dynamic_declaration: str
    restrict: str
    constant: str
    helper: str
    indices: Mapping[str, str]
    barrier: str
    float_suffix: str
    shuffles: Mapping[str, str]
    bit_functions: Mapping[tuple[str, int], str]
    native_halves: frozenset[str]
    vectors: Mapping[str, str]
    vector_structure: str
    vector_value: str
    aligned: str
    shared_alignment: int
    copy_async: str
    helpers: Mapping[str, str]
    keywords: frozenset[str]


_INTEGERS: Final = """\
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef {long} int64_t;
typedef unsigned {long} uint64_t;
#define INT64_C(value) value##{suffix}
#define UINT64_C(value) value##U{suffix}
#define INT64_MIN (-INT64_C(9223372036854775807) - 1)
"""

DYNAMIC_MEMORY: Final = "dynamic_memory"
"""The memory of a block whose size the launch chooses."""

_ALIGNED: Final = "__attribute__((aligned({size})))"
_VECTORS: Final = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
    "float32": "float", "float64": "double",
}  # fmt: skip
_HALF_INSTRUCTIONS: Final = """\
struct float16_t {
  uint16_t bits;
  __device__ inline operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};
static inline float16_t tw_round_f16(float value) {
  float16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
  return half;
}
static inline float16_t tw_round_f16(float16_t value) { return value; }
static inline float16_t tw_load_f16(uint16_t bits) { return float16_t{bits}; }
static inline uint16_t tw_store_f16(float16_t value) { return value.bits; }
static inline float16_t operator+(float16_t a, float16_t b) {
  float16_t half;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(half.bits) : "h"(a.bits), "h"(b.bits));
  return half;
}
static inline float16_t operator-(float16_t a, float16_t b) {
  float16_t half;
  asm("sub.rn.f16 %0, %1, %2;" : "=h"(half.bits) : "h"(a.bits), "h"(b.bits));
  return half;
}
static inline float16_t operator*(float16_t a, float16_t b) {
  float16_t half;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(half.bits) : "h"(a.bits), "h"(b.bits));
  return half;
}
static inline float16_t tw_fma_f16(float16_t a, float16_t b, float16_t c) {
  float16_t half;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(half.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return half;
}
"""
"""float16 of NVIDIA's GPUs, in place of `prelude.HALF`: NVRTC needs headers for its own type."""

_BFLOAT_INSTRUCTIONS: Final = f"""\
{BFLOAT}\
#if __CUDA_ARCH__ >= 800
static inline uint16_t tw_rounded_bf16(float value) {{
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}}
#define tw_store_bf16 tw_rounded_bf16
#endif
"""
"""Rounding to bfloat16 by an instruction of the GPUs that have it."""

_VLOAD_HALF: Final = """\
static inline float tw_load_f16(uint16_t bits) {
  uchar2 bytes = as_uchar2(bits);  // which may be accessed as any other type
  return vload_half(0, (const __private half*)&bytes);
}
static inline uint16_t tw_store_f16(float value) {
  uchar2 bytes;
  vstore_half_rte(value, 0, (__private half*)&bytes);
  return as_ushort(bytes);
}
static inline float tw_round_f16(float value) { return tw_load_f16(tw_store_f16(value)); }
"""
"""Conversions of float16 that each device has, in place of `prelude.HALF`."""

_COPY_AT_ONCE: Final = """\
#define tw_copy_async(to, from, bytes) tw_copy((__local uchar*)(to), (__global uchar*)(from), bytes)
static inline void tw_copy(__local uchar* to, __global const uchar* from, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = from[i];
}
#define tw_commit_copies()
#define tw_wait_copies(groups)
"""
_COPY_ASYNC: Final = """\
#ifndef tw_copy_async
#if __CUDA_ARCH__ >= 800
#define TW_CACHE_4 "ca"
#define TW_CACHE_8 "ca"
#define TW_CACHE_16 "cg"
#define tw_copy_async(to, from, bytes)                                            \\
  asm volatile("cp.async." TW_CACHE_##bytes ".shared.global [%0], [%1], " #bytes ";" \\
               :: "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(from) : "memory")
#define tw_commit_copies() asm volatile("cp.async.commit_group;" ::: "memory")
#define tw_wait_copies(groups) asm volatile("cp.async.wait_group " #groups ";" ::: "memory")
#else  // GPUs without such copies
struct __attribute__((aligned(4))) tw_bytes_4 { uint32_t words[1]; };
struct __attribute__((aligned(8))) tw_bytes_8 { uint32_t words[2]; };
struct __attribute__((aligned(16))) tw_bytes_16 { uint32_t words[4]; };
#define tw_copy_async(to, from, bytes) *(tw_bytes_##bytes*)(to) = *(const tw_bytes_##bytes*)(from)
#define tw_commit_copies()
#define tw_wait_copies(groups)
#endif
#endif
"""
"""Copies from global into shared memory, of 4, 8 or 16 bytes, which form groups."""

OPENCL: Final = Dialect(
    name="opencl",
    prelude=_INTEGERS.format(long="long", suffix="L")
    + """\
#define ldexpf ldexp
#define fabsf fabs
#define lrintf convert_int_rte
#define nearbyint rint
#undef NAN  // which initializers of constants could not use
#define NAN (0.0f / 0.0f)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
""",
    kernel="__kernel __attribute__((reqd_work_group_size({shape}))) void",
    spaces={"global": "__global", "shared": "__local", "local": "__private", "warp": "__local"},
    shared="__local",
    dynamic_parameter=f"__local uint8_t* {DYNAMIC_MEMORY}",
    dynamic_declaration="",
    restrict="restrict",
    constant="__constant",
    helper="static inline",
    indices={
        f"{kind}.{letter}": f"{function}({number})"
        for kind, function in (("blockIdx", "get_group_id"), ("threadIdx", "get_local_id"))
        for number, letter in enumerate("xyz")
    },
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
    float_suffix="",
    shuffles={},
    bit_functions={(name, bits): name for name in ("popcount", "clz") for bits in (32, 64)},
    native_halves=frozenset(),
    vectors=_VECTORS,
    vector_structure="",
    vector_value="({type})({lanes})",
    aligned=_ALIGNED,
    shared_alignment=1,
    copy_async=_COPY_AT_ONCE,
    helpers={"f16": _VLOAD_HALF},
    keywords=frozenset(
        """
        kernel global local constant private half uchar ushort uint ulong barrier generic pipe
        read_only write_only read_write image2d_t sampler_t event_t
        """.split()  # noqa: SIM905, a table of words reads best as words
    ),
)

CUDA: Final = Dialect(
    name="cuda",
    prelude=f"""\
#ifdef __CUDACC_RTC__  // NVRTC has no headers
{_INTEGERS.format(long="long long", suffix="LL")}\
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#else
#include <math.h>
#include <stdint.h>
#endif
""",
    kernel='extern "C" __global__ void __launch_bounds__({threads})',
    spaces={},
    shared="__shared__",
    dynamic_parameter="",
    dynamic_declaration=(
        f"extern __shared__ uint8_t {DYNAMIC_MEMORY}[] {_ALIGNED.format(size=128)};"
    ),
    restrict="__restrict__",
    constant="static const",
    helper="static __device__ inline",
    indices={
        f"{kind}.{letter}": f"(int){kind}.{letter}"
        for kind in ("blockIdx", "threadIdx")
        for letter in "xyz"
    },
    barrier="__syncthreads()",
    float_suffix="f",
    shuffles={f"shuffle{kind}": f"__shfl{kind}_sync" for kind in ("", "_up", "_down")},
    bit_functions={
        ("popcount", 32): "__popc",
        ("popcount", 64): "__popcll",
        ("clz", 32): "__clz",
        ("clz", 64): "__clzll",
    },
    native_halves=frozenset({"float16"}),
    vectors={**_VECTORS, "float16": "float16x", "int64": "longlong", "uint64": "ulonglong"},
    vector_structure=f"struct {_ALIGNED} {{name}} {{{{ {{element}} {{lanes}}; }}}};\n",
    vector_value="{type}{{{lanes}}}",
    aligned=_ALIGNED,
    shared_alignment=16,  # so that the compiler loads neighbours at once
    copy_async=_COPY_ASYNC,
    helpers={"f16": _HALF_INSTRUCTIONS, "bf16": _BFLOAT_INSTRUCTIONS},
    keywords=frozenset(
        """
        alignas alignof and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await
        co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete
        dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr
        operator or or_eq private protected public reinterpret_cast requires static_assert
        static_cast template this thread_local throw try typeid typename using virtual wchar_t xor
        xor_eq threadIdx blockIdx blockDim gridDim warpSize
        """.split()  # noqa: SIM905, a table of words reads best as words
    ),
)

DIALECTS: Final = {dialect.name: dialect for dialect in (OPENCL, CUDA)}
