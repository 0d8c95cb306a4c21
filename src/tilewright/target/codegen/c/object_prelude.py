"""Helper functions of C that make arrays and tuples, and copy and keep values of the host."""

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
  uint64_t head = sizeof(TwManaged) + 16 * (uint64_t)ndim + 63;
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
  block = (TwManaged*)malloc(head + bytes);
  if (!block) return tw_raise("MemoryError", "not enough memory for a result");
  memset(block, 0, sizeof *block);
  block->major = 1;
  block->deleter = free;
  block->tensor.data = (void*)(((uintptr_t)block + head) & ~(uintptr_t)63);
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

VALUES: Final = """\
extern TW_WEAK int TVMFFIAnyViewToOwnedAny(const void* view, void* out);
extern TW_WEAK int TVMFFITensorCreateUnsafeView(void* source, const void* prototype, void** out);

/* A compact copy of an array into a slot. */
static int32_t tw_copy_array(const TwTensor* tensor, TwAny* slot) {
  int32_t word, rank = tensor->ndim;
  int64_t count = 1;
  memcpy(&word, &tensor->dtype, 4);
  if (tw_new_array(slot, rank, word, tensor->shape) != 0) return -1;
  char* target = (char*)((TwTensor*)((char*)slot->value.v_ptr + 24))->data;
  const char* source = (const char*)tensor->data + tensor->byte_offset;
  int64_t item = (tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
  for (int32_t axis = 0; axis < rank; ++axis) count *= tensor->shape[axis];
  if (count == 0) return 0;
  if (!tensor->strides || rank == 0) {
    memcpy(target, source, (size_t)(count * item));
    return 0;
  }
  int64_t inner = tensor->shape[rank - 1], step = tensor->strides[rank - 1];
  for (int64_t row = 0; row < count / inner; ++row, target += inner * item) {
    int64_t rest = row, offset = 0;
    for (int32_t axis = rank - 1; axis-- > 0; rest /= tensor->shape[axis]) {
      offset += rest % tensor->shape[axis] * tensor->strides[axis];
    }
    if (step == 1) {
      memcpy(target, source + offset * item, (size_t)(inner * item));
      continue;
    }
    for (int64_t i = 0; i < inner; ++i) {
      memcpy(target + i * item, source + (offset + i * step) * item, (size_t)item);
    }
  }
  return 0;
}

/* A value into a slot, for good: arrays that only borrow their memory are copied. */
static int32_t tw_own(const void* any, void* slot) {
  const TwAny* value = (const TwAny*)any;
  if (value->type_index == 7) {
    return tw_copy_array((const TwTensor*)value->value.v_ptr, (TwAny*)slot);
  }
  if (!TVMFFIAnyViewToOwnedAny) return tw_raise("RuntimeError", "values need a tvm-ffi host");
  return TVMFFIAnyViewToOwnedAny(any, slot);
}

/* An array into a slot that keeps the array in another one alive. */
static int32_t tw_new_view(const void* source, const void* tensor, void* slot) {
  TwAny* into = (TwAny*)slot;
  if (!TVMFFITensorCreateUnsafeView) return tw_raise("RuntimeError", "values need a tvm-ffi host");
  if (TVMFFITensorCreateUnsafeView(((const TwAny*)source)->value.v_ptr, tensor,
                                   &into->value.v_ptr) != 0) {
    into->value.v_ptr = NULL;
    return -1;
  }
  into->type_index = 70;
  return 0;
}

/* An array with gaps, or with elements at odd addresses, is replaced by a copy. */
static int32_t tw_compact(void* slot) {
  TwAny* any = (TwAny*)slot;
  TwAny copy = {0};
  if (any->type_index != 70) return 0;
  const TwTensor* tensor = (const TwTensor*)((char*)any->value.v_ptr + 24);
  if (tensor->device.device_type != 1) return 0;
  uintptr_t item = tensor->dtype.bits / 8;
  int good = !item || ((uintptr_t)tensor->data + tensor->byte_offset) % item == 0;
  int64_t step = 1;
  for (int32_t axis = tensor->ndim; tensor->strides && axis-- > 0;) {
    if (tensor->shape[axis] == 0) return 0;
    good &= tensor->strides[axis] == step || tensor->shape[axis] == 1;
    step *= tensor->shape[axis];
  }
  if (good) return 0;
  if (tw_copy_array(tensor, &copy) != 0) return -1;
  TVMFFIObjectDecRef(any->value.v_ptr);
  *any = copy;
  return 0;
}

static bool tw_has_packed(const char* name) {
  struct { const char* data; size_t size; } key = {name, strlen(name)};
  void* function = NULL;
  if (!TVMFFIFunctionGetGlobal || TVMFFIFunctionGetGlobal(&key, &function) != 0) return false;
  if (function) TVMFFIObjectDecRef(function);
  return function != NULL;
}
"""
