"""Helper functions of the generated C; a source contains those that it uses."""

from __future__ import annotations

from typing import Final

from tilewright.target.codegen import AMX_REFUSED, NO_HOST, NOT_REGISTERED
from tilewright.target.cpu import ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA

HEADERS: Final = """\
#if defined(__GNUC__) && !defined(__clang__)
/* At -O3, GCC 12 splits loops such that loads move behind stores to the same elements. */
#pragma GCC optimize("no-tree-loop-distribution")
#endif
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define TW_WEAK __attribute__((weak))
#define TW_EXPORT __attribute__((visibility("default")))
#define TW_FORMAT __attribute__((format(printf, 2, 3)))
#define TW_PREFETCH(address, rw, locality) __builtin_prefetch(address, rw, locality)
#else
#define TW_WEAK
#define TW_EXPORT
#define TW_FORMAT
#define TW_PREFETCH(address, rw, locality) ((void)(address))
#endif
"""

ABI: Final = """\
/* The calling convention of tvm-ffi: a tagged value, and a DLPack tensor. */
typedef struct {
  int32_t type_index;
  int32_t small_size;
  union { int64_t v_int64; double v_float64; void* v_ptr; } value;
} TwAny;

typedef struct {
  void* data;
  struct { int32_t device_type; int32_t device_id; } device;
  int32_t ndim;
  struct { uint8_t code; uint8_t bits; uint16_t lanes; } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} TwTensor;
"""

RAISE: Final = """\
/* Present when the code is loaded by a tvm-ffi host, absent in a plain C program. */
extern TW_WEAK void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);

TW_FORMAT static int32_t tw_raise(const char* kind, const char* format, ...) {
  char message[512];
  va_list values;
  va_start(values, format);
  vsnprintf(message, sizeof message, format, values);
  va_end(values);
  if (TVMFFIErrorSetRaisedFromCStr) {
    TVMFFIErrorSetRaisedFromCStr(kind, message);
  } else {
    fprintf(stderr, "%s: %s\\n", kind, message);
  }
  return -1;
}
"""

FFI_CALLS: Final = """\
extern TW_WEAK int TVMFFIFunctionGetGlobal(const void* name, void** out);
extern TW_WEAK int TVMFFIFunctionCall(void* function, void* args, int32_t count, void* result);
extern TW_WEAK int TVMFFIObjectDecRef(void* object);
"""

PACKED: Final = f"""\
static int32_t tw_call_packed(const char* name, const char* caller, void* args, int32_t count,
                              int64_t* result, int32_t keeps) {{
  struct {{ const char* data; size_t size; }} key = {{name, strlen(name)}};
  void* function = NULL;
  if (!TVMFFIFunctionGetGlobal) {{
    return tw_raise("RuntimeError", "{NO_HOST}", caller, name);
  }}
  if (TVMFFIFunctionGetGlobal(&key, &function) != 0 || function == NULL) {{
    return tw_raise("KeyError",
                    "{NOT_REGISTERED}",
                    caller, name, name);
  }}
  int32_t code = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  if (code == 0 && !keeps && *(int32_t*)result >= 64) {{ /* an object that nobody here can use */
    TVMFFIObjectDecRef((void*)(intptr_t)result[1]);
    result[1] = 0;
  }}
  return code;
}}
"""

ATOMIC_ADD: Final = """\
static inline {kind} {name}({kind}* place, {kind} value) {{
  union {{ {word} bits; {kind} value; }} seen, sum;
  seen.bits = __atomic_load_n(({word}*)place, __ATOMIC_RELAXED);
  do sum.value = seen.value + value;
  while (!__atomic_compare_exchange_n(({word}*)place, &seen.bits, sum.bits, 1, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED));
  return seen.value;
}}
"""
"""Adds to a float of which no addition by another thread is lost."""

HALF: Final = """\
static inline float tw_load_f16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = (bits >> 10) & 31;
  uint32_t mantissa = bits & 1023;
  union { uint32_t bits; float value; } word;
  if (exponent == 0) {
    float value = ldexpf((float)mantissa, -24);
    return sign ? -value : value;
  }
  word.bits = sign | (exponent == 31 ? 255u << 23 : (exponent + 112) << 23) | mantissa << 13;
  return word.value;
}
static inline uint16_t tw_store_f16(float value) {
  union { float value; uint32_t bits; } given = {value};
  uint32_t word = given.bits & 0x7fffffff, sign = (given.bits >> 16) & 0x8000;
  if (word > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (word >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (word < 0x38800000) return (uint16_t)(sign | (uint16_t)lrintf(ldexpf(fabsf(value), 24)));
  word += 0xfff + ((word >> 13) & 1);
  return (uint16_t)(sign | ((word - 0x38000000) >> 13));
}
static inline float tw_round_f16(float value) { return tw_load_f16(tw_store_f16(value)); }
"""

BFLOAT: Final = """\
static inline float tw_load_bf16(uint16_t bits) {
  union { uint32_t bits; float value; } word = {(uint32_t)bits << 16};
  return word.value;
}
static inline uint16_t tw_store_bf16(float value) {
  union { float value; uint32_t bits; } given = {value};
  uint32_t word = given.bits;
  if ((word & 0x7fffffff) > 0x7f800000) return (uint16_t)((word >> 16) | 0x40);
  return (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}
static inline float tw_round_bf16(float value) { return tw_load_bf16(tw_store_bf16(value)); }
"""


ROUND_TO_ODD: Final = """\
/* To float, such that rounding the result to fewer bits gives what rounding the value gives. */
static inline float tw_odd_f32(double value) {
  union { float value; int32_t bits; } near = {(float)value};
  if ((double)near.value == value || isnan(value) || isinf(near.value)) return near.value;
  if (near.bits & 1) return near.value;
  near.bits += fabs((double)near.value) < fabs(value) ? 1 : -1;
  return near.value;
}
"""

SUM_TO_ODD: Final = """\
/* A sum with an odd last bit if it is not exact: the rounding error says on which side it is. */
static inline double tw_odd_sum(double a, double b) {
  union { double value; int64_t bits; } sum = {a + b};
  double part = sum.value - a, error = (a - (sum.value - part)) + (b - part);
  if (sum.bits & 1 || !(error < 0 || error > 0)) return sum.value;
  sum.bits += (error > 0) == (sum.value > 0) ? 1 : -1;
  return sum.value;
}
"""


def division(operation: str, name: str, c_type: str, is_signed: bool) -> str:
    """A quotient or remainder that is an unspecified number, without a trap, for divisor 0."""
    head = f"static inline {c_type} tw_{operation}_{name}({c_type} a, {c_type} b) {{\n"
    is_quotient = operation.endswith("div")
    operator = "/" if is_quotient else "%"
    lines = ["if (b == 0) return 0;"]
    if is_signed:
        # The smallest number has no opposite: it wraps around to itself.
        opposite = f"({c_type})(0u - (u{c_type})a)" if is_quotient else "0"
        lines.append(f"if (b == -1) return {opposite};")
    if not operation.startswith("floor"):
        lines.append(f"return ({c_type})(a {operator} b);")
    elif is_quotient:
        lines.append(f"return ({c_type})(a / b - (a % b != 0 && (a < 0) != (b < 0)));")
    else:
        lines.append(f"return ({c_type})(a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b);")
    return head + "".join(f"  {line}\n" for line in lines) + "}\n"


def float_extremes(name: str, c_type: str) -> str:
    """Minimum and maximum, NaN where either operand is NaN."""
    return (
        f"static inline {c_type} tw_min_{name}({c_type} a, {c_type} b) {{\n"
        "  return a != a || a < b ? a : b;\n}\n"
        f"static inline {c_type} tw_max_{name}({c_type} a, {c_type} b) {{\n"
        "  return a != a || a > b ? a : b;\n}\n"
    )


def bit_cast(source: str, target: str, name: str) -> str:
    """The bits of one type as another of the same size."""
    return (
        f"static inline {target} tw_bits_{name}({source} value) {{\n"
        f"  union {{ {source} given; {target} result; }} bits = {{value}};\n"
        "  return bits.result;\n}\n"
    )


TILES: Final = f"""\
#include <immintrin.h>
#ifdef __linux__
extern long syscall(long number, ...);
#endif

#if defined(__GNUC__) || defined(__clang__)
/* GCC takes it that the instructions read no memory, and would move stores behind them. */
#define TW_FROM_MEMORY(load) do {{ __asm__ volatile("" ::: "memory"); load; }} while (0)
#else
#define TW_FROM_MEMORY(load) load
#endif
#define TW_LOAD_TILE(tile, address, stride) TW_FROM_MEMORY(_tile_loadd(tile, address, stride))
#define TW_STREAM_TILE(tile, address, stride) \\
  TW_FROM_MEMORY(_tile_stream_loadd(tile, address, stride))

/* Linux lets a process use AMX if it asks for it; 0, or -1 with an error if it refuses. */
static int32_t tw_permit_tiles(void) {{
#ifdef __linux__
  static volatile bool permitted = false;
  if (!permitted) {{
    if (syscall({ARCH_PRCTL}, {REQUEST_PERMISSION}, {TILE_DATA}) != 0) {{
      return tw_raise("RuntimeError", "%s", "{AMX_REFUSED}");
    }}
    permitted = true;
  }}
#endif
  return 0;
}}
"""
