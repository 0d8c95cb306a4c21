"""C functions that make arrays and tuples for the host; see `prelude`."""

from __future__ import annotations

from typing import Final

OBJECTS: Final = """\
extern TW_WEAK int TVMFFITensorFromDLPackVersioned(
    void* managed, int32_t alignment, int32_t contiguous, void** out);

/* An array in one block of memory, which `free` ends: DLManagedTensorVersioned, the shape, the
 * strides, and from the next multiple of 64 bytes on the elements. */
typedef struct {
  uint32_t major, minor;
  void* context;
  void (*deleter)(void*);
  uint64_t flags;
  TwTensor tensor;
} TwManaged;

static int32_t tw_new_array(void* slot, int32_t ndim, int32_t word, const void* shape) {
  const int64_t* extents = (const int64_t*)shape;
  uint64_t bytes = ((uint32_t)(word >> 8 & 255) * ((uint32_t)word >> 16) + 7) / 8;
  uint64_t start = (sizeof(TwManaged) + 16 * (uint64_t)ndim + 63) & ~(uint64_t)63;
  TwManaged* block = NULL;
  if (!TVMFFITensorFromDLPackVersioned) {
    return tw_raise("RuntimeError", "new arrays need a tvm-ffi host: load the library there, or "
                                    "call the function that ends in _into");
  }
  for (int32_t axis = 0; axis < ndim; ++axis) {
    if (extents[axis] < 0) return tw_raise("ValueError", "an extent of a result would be negative");
    if (extents[axis] && bytes > ((uint64_t)1 << 47) / (uint64_t)extents[axis]) {
      return tw_raise("MemoryError", "not enough memory for a result");
    }
    bytes *= (uint64_t)extents[axis];
  }
  block = (TwManaged*)aligned_alloc(64, (start + bytes + 63) & ~(uint64_t)63);
  if (!block) return tw_raise("MemoryError", "not enough memory for a result");
  memset(block, 0, sizeof *block);
  block->major = 1;
  block->deleter = free;
  block->tensor.data = (char*)block + start;
  block->tensor.device.device_type = 1;
  block->tensor.ndim = ndim;
  memcpy(&block->tensor.dtype, &word, 4);
  block->tensor.shape = (int64_t*)(block + 1);
  block->tensor.strides = block->tensor.shape + ndim;
  for (int64_t axis = ndim - 1, step = 1; axis >= 0; step *= extents[axis--]) {
    block->tensor.shape[axis] = extents[axis];
    block->tensor.strides[axis] = step;
  }
  if (TVMFFITensorFromDLPackVersioned(block, 0, 0, &((TwAny*)slot)->value.v_ptr) != 0) {
    ((TwAny*)slot)->value.v_ptr = NULL;
    free(block);
    return -1;
  }
  ((TwAny*)slot)->type_index = 70;
  return 0;
}

static void tw_release_objects(void* slots, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    TwAny* slot = (TwAny*)slots + i;
    if (slot->type_index >= 64) {
      TVMFFIObjectDecRef(slot->value.v_ptr);
      memset(slot, 0, sizeof *slot);
    }
  }
}

static int32_t tw_new_tuple(void* items, int32_t count, void* slot) {
  struct { const char* data; size_t size; } key = {"ffi.Array", 9};
  void* function = NULL;
  int32_t code = -1;
  memset(slot, 0, sizeof(TwAny));
  if (TVMFFIFunctionGetGlobal(&key, &function) == 0 && function) {
    code = TVMFFIFunctionCall(function, items, count, slot);
    TVMFFIObjectDecRef(function);
  } else {
    tw_raise("RuntimeError", "the tvm-ffi host has no tuples");
  }
  tw_release_objects(items, count);
  return code;
}
"""
