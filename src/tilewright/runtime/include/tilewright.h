/* Calling functions that Tilewright exported, from C or C++ and without any library.
 *
 * The structures are those of DLPack (dlpack.h) and of tvm-ffi's C interface (tvm/ffi/c_api.h);
 * include those instead if you have them. See docs/c_interface.md for an example.
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type codes of array elements. A bool has code TILEWRIGHT_BOOL and 8 bits. */
enum {
  TILEWRIGHT_INT = 0,
  TILEWRIGHT_UINT = 1,
  TILEWRIGHT_FLOAT = 2,
  TILEWRIGHT_BFLOAT = 4,
  TILEWRIGHT_BOOL = 6
};

enum { TILEWRIGHT_CPU = 1 };

/* DLTensor of dlpack.h. `strides` are in elements; NULL means compact and row-major. */
typedef struct {
  void *data;
  int32_t device_type; /* TILEWRIGHT_CPU */
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes; /* 1 */
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} TilewrightArray;

/* Type indices of arguments and results. */
enum {
  TILEWRIGHT_ARG_NONE = 0,
  TILEWRIGHT_ARG_INT = 1,
  TILEWRIGHT_ARG_BOOL = 2,
  TILEWRIGHT_ARG_FLOAT = 3,
  TILEWRIGHT_ARG_POINTER = 4,
  TILEWRIGHT_ARG_ARRAY = 7,
  TILEWRIGHT_ARG_TENSOR = 70 /* an object that holds an array; see tilewright_array_of */
};

/* TVMFFIAny of tvm/ffi/c_api.h. `padding` must be 0. */
typedef struct {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t v_int64; /* TILEWRIGHT_ARG_INT and TILEWRIGHT_ARG_BOOL */
    double v_float64;
    void *v_ptr; /* TILEWRIGHT_ARG_POINTER; TILEWRIGHT_ARG_ARRAY: a TilewrightArray */
  } value;
} TilewrightValue;

/* The type of the symbol `__tvm_ffi_<name>` of a function. Pass NULL for `self`, and for `result`
 * the address of a value that is all zero. Returns 0, or -1 after an error. */
typedef int (*TilewrightFunction)(void *self, const TilewrightValue *args, int32_t num_args,
                                  TilewrightValue *result);

/* Optional, for you to define: called with the class ("ValueError", ...) and the text of an error
 * before the function that failed returns; without it the text goes to stderr. An executable that
 * loads libraries at run time must export it (link with -rdynamic). Programs that use libtvm_ffi
 * must not define it. */
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

/* An array argument. */
static inline TilewrightValue tilewright_array(TilewrightArray *array) {
  TilewrightValue value = {TILEWRIGHT_ARG_ARRAY, 0, {0}};
  value.value.v_ptr = array;
  return value;
}

/* The array in an argument, for a function that is written in C and called with arrays or with
 * tensor objects, whose header has 24 bytes; NULL for another argument. */
static inline TilewrightArray *tilewright_array_of(const TilewrightValue *value) {
  if (value->type_index == TILEWRIGHT_ARG_ARRAY) return (TilewrightArray *)value->value.v_ptr;
  if (value->type_index != TILEWRIGHT_ARG_TENSOR) return 0;
  return (TilewrightArray *)((char *)value->value.v_ptr + 24);
}

#ifdef __cplusplus
}
#endif

#endif
